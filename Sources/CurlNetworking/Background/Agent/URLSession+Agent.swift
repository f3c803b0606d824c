import Foundation

/// The tasks with which an agent does a background session's transfers.
extension URLSession {
    /// An upload of an unchanged file, with its own cookies. Resumed if possible, with `request`: the one in resume data has no
    /// credentials.
    func makeUploadTask(
        _ request: URLRequest,
        of file: UploadedFile,
        resuming resource: UploadResource?,
        _ cookies: TaskCookies
    ) -> URLSessionUploadTask {
        let engine = TaskHandle(
            identifier: core.makeTaskIdentifier(),
            session: core,
            request: request,
            body: .file(file.url),
            startingAt: resource.map { .upload(UploadResumption(request, file: file, at: $0)) } ?? .beginning,
            consumer: .delegate,
            makeSteps: { Steps($0, $1, ownCookies: cookies, ownFile: file) }
        )
        return introduce(URLSessionUploadTask(engine: engine))
    }

    /// A download with its own cookies. Resumed if possible, with `request`: the one in resume data has no credentials.
    func makeDownloadTask(
        _ request: URLRequest,
        resuming resumeData: ResumeData?,
        _ cookies: TaskCookies
    ) -> URLSessionDownloadTask {
        let engine = TaskHandle(
            identifier: core.makeTaskIdentifier(),
            session: core,
            request: request,
            startingAt: resumeData.map(StartingPoint.download) ?? .beginning,
            consumer: .downloadDelegate,
            makeSteps: { Steps($0, $1, ownCookies: cookies) }
        )
        return introduce(URLSessionDownloadTask(engine: engine))
    }
}
