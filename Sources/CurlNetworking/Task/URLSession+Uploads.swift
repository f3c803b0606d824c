import Foundation

// The resumption of interrupted uploads.

extension URLSession {
    func makeUploadTask(_ resumeData: Data, _ consumer: Consumer) -> URLSessionUploadTask {
        introduce(URLSessionUploadTask(engine: makeUploadEngine(resumeData, consumer)))
    }

    /// May block on the file system, since the body must be found.
    func makeUploadEngine(_ resumeData: Data, _ consumer: Consumer) -> any TaskEngine {
        do throws(URLError) {
            let decoded = try UploadResumeData(decoding: resumeData)
            let found = try UploadResumption(decoded, in: core.settings.temporaryDirectory)
            if core.isBackground {
                return makeBackgroundEngine(
                    found.request,
                    consumer,
                    body: found.content.backgroundSource,
                    upload: .init(resumption: found, resumeData: resumeData)
                )
            }
            return TaskHandle(
                identifier: core.makeTaskIdentifier(),
                session: core,
                request: found.request,
                body: found.content.source,
                startingAt: .upload(found),
                consumer: consumer
            )
        } catch {
            return makeEngine(refusing: error, consumer, body: .data(Data()))
        }
    }
}

extension KeptBody.Content {
    fileprivate var source: TaskBody.Source {
        switch self {
        case .data(let data): .data(data)
        case .file(let file, _), .programFile(let file): .file(file.url)
        case .stream: .stream
        }
    }

    /// An agent accepts only the program's files; this module's would be tied to a task that has other owners.
    fileprivate var backgroundSource: TaskBody.Source {
        if case .programFile(let file) = self { .file(file.url) } else { .data(Data()) }
    }
}
