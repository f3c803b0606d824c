import Foundation

// How interrupted uploads are continued.

extension URLSession {
    func makeUploadTask(_ resumeData: Data, _ consumer: Consumer) -> URLSessionUploadTask {
        introduce(URLSessionUploadTask(engine: makeUploadEngine(resumeData, consumer)))
    }

    /// May wait for the file system, as the body has to be found.
    func makeUploadEngine(_ resumeData: Data, _ consumer: Consumer) -> any TaskEngine {
        let directory = core.settings.temporaryDirectory
        let resumption = Result { () throws(URLError) in
            try UploadResumption(UploadResumeData(decoding: resumeData), in: directory)
        }
        let found = try? resumption.get()
        if core.configuration.identifier != nil, let found {
            let data = try? UploadResumeData(decoding: resumeData).withoutBody.encoded()
            let isContinued = found.resource != nil
            return makeBackgroundEngine(
                found.request,
                consumer,
                body: found.content.source,
                resumeData: isContinued ? data : nil
            )
        }
        return TaskHandle(
            identifier: core.makeTaskIdentifier(),
            session: core,
            request: found?.request,
            body: found?.content.source ?? .data(Data()),
            upload: resumption,
            consumer: consumer
        )
    }
}

extension URLSession {
    /// An agent's upload, which goes on with what its record has, with a request of its own: that of resume data has no credentials.
    func makeUploadTask(_ request: URLRequest, file: URL, resuming resumeData: Data?) -> URLSessionUploadTask {
        guard let described = UploadedFile(file) else { return uploadTask(with: request, fromFile: file) }
        let data = resumeData.flatMap { try? UploadResumeData(decoding: $0) }
        let engine = TaskHandle(
            identifier: core.makeTaskIdentifier(),
            session: core,
            request: request,
            body: .file(file),
            upload: .success(UploadResumption(request, file: described, data)),
            consumer: .delegate
        )
        return introduce(URLSessionUploadTask(engine: engine))
    }
}

extension KeptBody.Content {
    fileprivate var source: TaskBody.Source {
        switch self {
        case .data(let data): .data(data)
        case .file(let file), .programFile(let file): .file(file.url)
        case .stream: .stream
        }
    }
}
