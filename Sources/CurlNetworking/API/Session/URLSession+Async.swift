import Foundation

// The async methods. Each cancels its transfer when its Swift task is cancelled. The result is delivered from the event loop, without going
// through the delegate queue.

extension URLSession {
    /// The response to `request`, and its whole body.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsession/data(for:delegate:)>
    ///
    /// - Throws: A `URLError`; `.cancelled` if the Swift task is cancelled. A status such as 404 is not an error.
    public func data(
        for request: URLRequest,
        delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (Data, URLResponse) {
        try await load(delegate) { continuation in
            URLSessionDataTask(engine: makeEngine(request, .data(continuation)))
        }
    }

    /// The response to a GET of `url`, and its whole body.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsession/data(from:delegate:)>
    ///
    /// - Throws: A `URLError`; `.cancelled` if the Swift task is cancelled. A status such as 404 is not an error.
    public func data(
        from url: URL,
        delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (Data, URLResponse) {
        try await data(for: makeRequest(url), delegate: delegate)
    }

    /// Sends `request` with the file's content, and returns the response and its whole body.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsession/upload(for:fromfile:delegate:)>
    ///
    /// - Throws: A `URLError`; `.cancelled` if the Swift task is cancelled. A status such as 404 is not an error.
    public func upload(
        for request: URLRequest,
        fromFile fileURL: URL,
        delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (Data, URLResponse) {
        try await load(delegate) { continuation in
            URLSessionUploadTask(engine: makeEngine(request, .data(continuation), body: .file(fileURL)))
        }
    }

    /// Sends `request` with `bodyData`, and returns the response and its whole body.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsession/upload(for:from:delegate:)>
    ///
    /// - Throws: A `URLError`; `.cancelled` if the Swift task is cancelled. A status such as 404 is not an error.
    public func upload(
        for request: URLRequest,
        from bodyData: Data,
        delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (Data, URLResponse) {
        try await load(delegate) { continuation in
            URLSessionUploadTask(engine: makeEngine(request, .data(continuation), body: .data(bodyData)))
        }
    }

    /// Resumes an upload, and returns the response and its whole body; see ``uploadTask(withResumeData:)``. Looks for the body's file on the
    /// caller's thread, which may wait for the file system.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsession/upload(resumefrom:delegate:)>
    ///
    /// - Throws: A `URLError`; `.cancelled` if the Swift task is cancelled. A status such as 404 is not an error.
    public func upload(
        resumeFrom resumeData: Data,
        delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (Data, URLResponse) {
        try await load(delegate) { continuation in
            URLSessionUploadTask(engine: makeUploadEngine(resumeData, .data(continuation)))
        }
    }

    /// The response to `request`, and a temporary file with its body. Moving or removing the file is up to the caller.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsession/download(for:delegate:)>
    ///
    /// - Throws: A `URLError`; `.cancelled` if the Swift task is cancelled. A status such as 404 is not an error.
    public func download(
        for request: URLRequest,
        delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (URL, URLResponse) {
        try await load(delegate) { continuation in
            URLSessionDownloadTask(engine: makeEngine(request, .file(continuation)))
        }
    }

    /// The response to a GET of `url`, and a temporary file with its body. Moving or removing the file is up to the caller.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsession/download(from:delegate:)>
    ///
    /// - Throws: A `URLError`; `.cancelled` if the Swift task is cancelled. A status such as 404 is not an error.
    public func download(
        from url: URL,
        delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (URL, URLResponse) {
        try await download(for: makeRequest(url), delegate: delegate)
    }

    /// Resumes a download; see ``downloadTask(withResumeData:)``. Moving or removing the file is up to the caller.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsession/download(resumefrom:delegate:)>
    ///
    /// - Throws: A `URLError`; `.cancelled` if the Swift task is cancelled. A status such as 404 is not an error.
    public func download(
        resumeFrom resumeData: Data,
        delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (URL, URLResponse) {
        try await load(delegate) { continuation in
            URLSessionDownloadTask(engine: makeEngine(resumeData, .file(continuation)))
        }
    }

    /// The tasks that are neither completed nor cancelled, by kind.
    ///
    /// In a background session this doesn't wait until the delegate has been told of the tasks that had ended before, unlike
    /// ``URLSession/getTasksWithCompletionHandler(_:)``.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsession/tasks>
    public var tasks: ([URLSessionDataTask], [URLSessionUploadTask], [URLSessionDownloadTask]) {
        get async {
            await withCheckedContinuation { continuation in core.afterAttaching { continuation.resume() } }
            return tasksByKind
        }
    }

    /// All tasks that are neither completed nor cancelled.
    ///
    /// In a background session this doesn't wait until the delegate has been told of the tasks that had ended before, unlike
    /// ``URLSession/getAllTasks(completionHandler:)``.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsession/alltasks>
    public var allTasks: [URLSessionTask] {
        get async {
            await withCheckedContinuation { continuation in core.afterAttaching { continuation.resume() } }
            return core.tasks
        }
    }

    /// Runs the task that `make` creates for the continuation. The response is made here, and not on the event loop.
    private func load<Body>(
        _ delegate: (any URLSessionTaskDelegate)?,
        make: (UnsafeContinuation<(Body, TaskResponse), any Error>) -> URLSessionTask
    ) async throws -> (Body, URLResponse) {
        let canceller = TaskCanceller()
        let (body, response) = try await withTaskCancellationHandler {
            try await withUnsafeThrowingContinuation { continuation in
                let task = introduce(make(continuation), delegate: delegate)
                canceller.arm(task)
                task.resume()
            }
        } onCancel: {
            canceller.cancel()
        }
        return (body, response.object)
    }
}

/// Programs and libraries have methods of their own by these names, written while the stock module had none. What a protocol's extension
/// adds gives way to them, in calls, in a subclass, and where a protocol requires it.
public protocol _URLSessionAdditions: AnyObject {}

extension URLSession: _URLSessionAdditions {}

extension _URLSessionAdditions where Self: URLSession {
    /// Makes later requests use new connections, and waits for storages and for a background session's agent, as
    /// ``flush(completionHandler:)`` does.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsession/flush(completionhandler:)>
    public func flush() async {
        await withCheckedContinuation { continuation in
            flush { continuation.resume() }
        }
    }

    /// Empties the session's cookies, cache and credentials, and makes later requests use new connections.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsession/reset(completionhandler:)>
    public func reset() async {
        await withCheckedContinuation { continuation in
            reset { continuation.resume() }
        }
    }

    // Without a delegate, as on Apple's platforms: a default argument doesn't satisfy a protocol's requirement.

    /// The response to `request`, and its whole body.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsession/data(for:delegate:)>
    ///
    /// - Throws: A `URLError`; `.cancelled` if the Swift task is cancelled. A status such as 404 is not an error.
    public func data(for request: URLRequest) async throws -> (Data, URLResponse) {
        try await data(for: request, delegate: nil)
    }

    /// The response to a GET of `url`, and its whole body.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsession/data(from:delegate:)>
    ///
    /// - Throws: A `URLError`; `.cancelled` if the Swift task is cancelled. A status such as 404 is not an error.
    public func data(from url: URL) async throws -> (Data, URLResponse) {
        try await data(from: url, delegate: nil)
    }

    /// Sends `request` with the file's content, and returns the response and its whole body.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsession/upload(for:fromfile:delegate:)>
    ///
    /// - Throws: A `URLError`; `.cancelled` if the Swift task is cancelled. A status such as 404 is not an error.
    public func upload(for request: URLRequest, fromFile fileURL: URL) async throws -> (Data, URLResponse) {
        try await upload(for: request, fromFile: fileURL, delegate: nil)
    }

    /// Sends `request` with `bodyData`, and returns the response and its whole body.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsession/upload(for:from:delegate:)>
    ///
    /// - Throws: A `URLError`; `.cancelled` if the Swift task is cancelled. A status such as 404 is not an error.
    public func upload(for request: URLRequest, from bodyData: Data) async throws -> (Data, URLResponse) {
        try await upload(for: request, from: bodyData, delegate: nil)
    }
}
