import Foundation

// Each async method cancels its transfer when its Swift task is cancelled. Results are delivered from the event loop, bypassing the
// delegate queue.

extension URLSession {
    /// Returns the response to `request`, and its whole body.
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

    /// Returns the response to a GET for `url`, and its whole body.
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

    /// Sends `request` with the file's contents, and returns the response and its whole body.
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

    /// Returns the response to `request`, and a temporary file with its body. The caller must move or remove the file.
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

    /// Returns the response to a GET for `url`, and a temporary file with its body. The caller must move or remove the file.
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

    /// Runs the task that `make` creates for the continuation. The response object is created here, not on the event loop.
    fileprivate func load<Body>(
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

/// Programs and libraries define members with these names, written while the stock module had none. Members of a protocol extension give
/// way to them, in calls, in subclasses and as protocol witnesses.
public protocol _URLSessionAdditions: AnyObject {}

extension URLSession: _URLSessionAdditions {}

extension _URLSessionAdditions where Self: URLSession {
    /// The tasks that are neither completed nor cancelled, by kind.
    ///
    /// In a background session, this doesn't wait until the delegate has been told of tasks that have ended: a program that exits when none
    /// is left calls ``URLSession/getTasksWithCompletionHandler(_:)``.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsession/tasks>
    public var tasks: ([URLSessionDataTask], [URLSessionUploadTask], [URLSessionDownloadTask]) {
        get async {
            await withCheckedContinuation { continuation in core.afterAttaching { continuation.resume() } }
            return SessionCore.byKind(core.tasks)
        }
    }

    /// All tasks that are neither completed nor cancelled.
    ///
    /// In a background session, this doesn't wait until the delegate has been told of tasks that have ended: a program that exits when none
    /// is left calls ``URLSession/getAllTasks(completionHandler:)``.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsession/alltasks>
    public var allTasks: [URLSessionTask] {
        get async {
            await withCheckedContinuation { continuation in core.afterAttaching { continuation.resume() } }
            return core.tasks
        }
    }

    /// Makes later requests use new connections, and waits for storages and a background session's agent, as ``flush(completionHandler:)``
    /// does.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsession/flush(completionhandler:)>
    public func flush() async {
        await withCheckedContinuation { continuation in
            flush { continuation.resume() }
        }
    }

    /// Removes the session's cookies, cached responses and credentials, and makes later requests use new connections.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsession/reset(completionhandler:)>
    public func reset() async {
        await withCheckedContinuation { continuation in
            reset { continuation.resume() }
        }
    }

    // Without a delegate, as on Apple's platforms: a default argument doesn't satisfy a protocol requirement.

    /// Returns the response to `request`, and its whole body.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsession/data(for:delegate:)>
    ///
    /// - Throws: A `URLError`; `.cancelled` if the Swift task is cancelled. A status such as 404 is not an error.
    public func data(for request: URLRequest) async throws -> (Data, URLResponse) {
        try await data(for: request, delegate: nil)
    }

    /// Returns the response to a GET for `url`, and its whole body.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsession/data(from:delegate:)>
    ///
    /// - Throws: A `URLError`; `.cancelled` if the Swift task is cancelled. A status such as 404 is not an error.
    public func data(from url: URL) async throws -> (Data, URLResponse) {
        try await data(from: url, delegate: nil)
    }

    /// Sends `request` with the file's contents, and returns the response and its whole body.
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

    /// Resumes an upload, and returns the response and its whole body; see ``uploadTask(withResumeData:)``. Looks up the body's file on the
    /// caller's thread, which may block on the file system.
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

    /// Resumes a download; see ``downloadTask(withResumeData:)``. The caller must move or remove the file.
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
}
