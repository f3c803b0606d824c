import CurlTransport
import Foundation

/// Coordinates a group of related network transfers: `URLSession` as Apple documents it, on libcurl.
///
/// A session has its own connections and delegate. It retains its delegate until it is invalidated, and each task from creation to
/// completion. A session that is released without being invalidated releases everything once its resumed tasks have completed. Safe to use
/// from any thread.
///
/// A new task is suspended; ``URLSessionTask/resume()`` starts it. Creating one in an invalidated session is a programming error, and
/// traps.
///
/// Source: <https://developer.apple.com/documentation/foundation/urlsession>
open class URLSession: NSObject, NSCopying, @unchecked Sendable {
    // @unchecked: the property never changes, and its value synchronises itself. What a subclass may call in its `deinit` mustn't capture
    // the session.
    let core: SessionCore

    private static let sharedSession = URLSession(shared: .default)

    /// The session for simple requests: default configuration, no delegate. Invalidating it has no effect.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsession/shared>
    open class var shared: URLSession { sharedSession }

    /// Creates a session without a delegate. Traps if `configuration.curl` is invalid; see ``CurlOptions/validate()``.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsession/init(configuration:)>
    public init(configuration: URLSessionConfiguration) {
        core = Self.makeCore(configuration, nil, nil)
        super.init()
        core.represent(by: self)
        beginBackgroundTasks()
    }

    /// Creates a session. Traps if `configuration.curl` is invalid; see ``CurlOptions/validate()``.
    ///
    /// - Parameters:
    ///   - configuration: The configuration to copy; later changes have no effect.
    ///   - delegate: The delegate, retained until `urlSession(_:didBecomeInvalidWithError:)` has returned.
    ///   - queue: The queue on which the delegate and completion handlers are called; nil for a private serial queue.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsession/init(configuration:delegate:delegatequeue:)>
    public init(
        configuration: URLSessionConfiguration,
        delegate: (any URLSessionDelegate)?,
        delegateQueue queue: OperationQueue?
    ) {
        core = Self.makeCore(configuration, delegate, queue)
        super.init()
        core.represent(by: self)
        beginBackgroundTasks()
    }

    /// Shared by the public initialisers, which are both designated so that a subclass may call either.
    private static func makeCore(
        _ configuration: URLSessionConfiguration,
        _ delegate: (any URLSessionDelegate)?,
        _ queue: OperationQueue?
    ) -> SessionCore {
        let copy = configuration.copy() as? URLSessionConfiguration ?? configuration
        do {
            try copy.curl.validate()
        } catch {
            preconditionFailure("\(error)")
        }
        // Before the first warning, since standard error may be a pipe.
        if copy.curl.ignoresBrokenPipeSignal { CurlLibrary.ignoreBrokenPipeSignal() }
        for warning in copy.warnings + copy.curl.warnings { StandardError.write(warning) }
        return SessionCore(
            copy,
            settings: SessionSettings(copy),
            delegate: delegate,
            delegateQueue: queue ?? SessionQueue()
        )
    }

    private init(shared configuration: URLSessionConfiguration) {
        CurlLibrary.ignoreBrokenPipeSignal()
        let settings = SessionSettings(configuration, consultsRegisteredProtocols: true)
        core = SessionCore(configuration, settings: settings, delegate: nil, delegateQueue: SessionQueue())
        super.init()
        core.represent(by: self)
    }

    /// Another object for a session whose first one was released while the program still held tasks.
    init(of core: SessionCore) {
        self.core = core
        super.init()
    }

    deinit {
        core.sessionWasDropped()
    }

    /// Returns the session itself: sessions have an identity and can't be copied.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsession#Foundation-copying-behavior>
    open override func copy() -> Any { self }

    /// Returns the session itself: sessions have an identity and can't be copied.
    open func copy(with zone: NSZone?) -> Any { self }

    // MARK: - Properties

    /// The queue on which the delegate and completion handlers are called.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsession/delegatequeue>
    open var delegateQueue: OperationQueue { core.deliveryQueue.operations }

    /// The delegate; nil once it has been told that the session is invalid.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsession/delegate>
    open var delegate: (any URLSessionDelegate)? { core.delegates.base }

    /// A copy of the session's configuration. Changes have no effect on the session.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsession/configuration>
    open var configuration: URLSessionConfiguration {
        core.configuration.copy() as? URLSessionConfiguration ?? core.configuration
    }

    /// An app-defined description of the session.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsession/sessiondescription>
    open var sessionDescription: String? {
        get { core.description }
        set { core.description = newValue }
    }

    // MARK: - The end

    /// Stops accepting tasks, and invalidates the session once its outstanding tasks have finished. No effect on ``shared``.
    ///
    /// A task that was never resumed delays invalidation as long as the program holds it; otherwise it is released at once.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsession/finishtasksandinvalidate()>
    open func finishTasksAndInvalidate() {
        guard self !== Self.sharedSession else { return }
        core.invalidate(self, cancellingTasks: false)
    }

    /// Cancels all tasks and invalidates the session. No effect on ``shared``.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsession/invalidateandcancel()>
    open func invalidateAndCancel() {
        guard self !== Self.sharedSession else { return }
        core.invalidate(self, cancellingTasks: true)
    }

    /// Removes the session's cookies, cached responses and credentials, and makes later requests use new connections. In a background
    /// session, this includes later requests of running tasks.
    ///
    /// `completionHandler` is called on the delegate queue.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsession/reset(completionhandler:)>
    open func reset(completionHandler: @escaping @Sendable () -> Void) {
        let (core, configuration) = (core, core.configuration)
        core.forgetCredentials()
        // The storages may write files, or belong to the program.
        WorkThreads.blocking.run {
            configuration.emptyStorages()
            // Once more, since requests may meanwhile have found a credential that was still in the storage.
            core.forgetCredentials()
            core.flush(forgetting: true, completionHandler)
        }
    }

    /// Makes later requests use new connections, and waits for storages; running tasks keep their connections.
    ///
    /// `completionHandler` is called on the delegate queue, once everything stored from the responses so far is in the storages and their
    /// files: cookies, cached responses, and hosts for ``CurlOptions/strictTransportSecurity``. It is called, and isn't told, if a file
    /// couldn't be written, as on a full disk. In a background session, the handler is called once the agent has recorded all tasks resumed
    /// so far, so a program that exits then loses none. Source:
    /// <https://developer.apple.com/documentation/foundation/urlsession/flush(completionhandler:)>
    open func flush(completionHandler: @escaping @Sendable () -> Void) {
        core.flush(forgetting: false, completionHandler)
    }

    // MARK: - The list of tasks

    /// Passes the tasks that are neither completed nor cancelled, by kind, to `completionHandler` on the delegate queue.
    ///
    /// In a background session, this waits until the delegate has been told of the ends of all other tasks. A task that ends meanwhile is
    /// listed, even if the delegate is just being told of that. See <doc:BackgroundSessions>.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsession/gettaskswithcompletionhandler(_:)>
    open func getTasksWithCompletionHandler(
        _ completionHandler:
            @escaping @Sendable ([URLSessionDataTask], [URLSessionUploadTask], [URLSessionDownloadTask])
            -> Void
    ) {
        core.listTasks { tasks in
            let (data, uploads, downloads) = SessionCore.byKind(tasks)
            completionHandler(data, uploads, downloads)
        }
    }

    /// Passes the tasks that are neither completed nor cancelled, by kind, to `completionHandler` on the delegate queue.
    ///
    /// Disfavoured, because a trailing closure matches both spellings.
    @_disfavoredOverload
    public func getTasksWithCompletionHandler(
        completionHandler:
            @escaping @Sendable ([URLSessionDataTask], [URLSessionUploadTask], [URLSessionDownloadTask])
            -> Void
    ) {
        getTasksWithCompletionHandler(completionHandler)
    }

    /// Passes all tasks that are neither completed nor cancelled to `completionHandler` on the delegate queue.
    ///
    /// In a background session, this waits until the delegate has been told of the ends of all other tasks. A task that ends meanwhile is
    /// listed, even if the delegate is just being told of that. See <doc:BackgroundSessions>.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsession/getalltasks(completionhandler:)>
    open func getAllTasks(completionHandler: @escaping @Sendable ([URLSessionTask]) -> Void) {
        core.listTasks(completionHandler)
    }

    // MARK: - Data tasks
    //
    // None of these methods calls another: a subclass may override any of them by calling any other's original implementation.

    /// Creates a task that delivers the response to `request` to the delegate.
    open func dataTask(with request: URLRequest) -> URLSessionDataTask {
        makeDataTask(request, .delegate)
    }

    /// Creates a task that delivers the response to a GET for `url` to the delegate.
    open func dataTask(with url: URL) -> URLSessionDataTask {
        makeDataTask(makeRequest(url), .delegate)
    }

    /// Creates a task that passes the whole response to `request` to `completionHandler` on the delegate queue.
    open func dataTask(
        with request: URLRequest,
        completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionDataTask {
        makeDataTask(request, .dataHandler(completionHandler))
    }

    /// Creates a task that passes the whole response to a GET for `url` to `completionHandler` on the delegate queue.
    open func dataTask(
        with url: URL,
        completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionDataTask {
        makeDataTask(makeRequest(url), .dataHandler(completionHandler))
    }

    // MARK: - Upload tasks

    /// Creates a task that sends `request` with the file's contents as its body. The file is read as it is sent.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsession/uploadtask(with:fromfile:)>
    open func uploadTask(with request: URLRequest, fromFile fileURL: URL) -> URLSessionUploadTask {
        makeUploadTask(request, .file(fileURL), .delegate)
    }

    /// Creates a task that sends `request` with `bodyData` as its body.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsession/uploadtask(with:from:)>
    open func uploadTask(with request: URLRequest, from bodyData: Data) -> URLSessionUploadTask {
        makeUploadTask(request, .data(bodyData), .delegate)
    }

    /// Creates a task that sends `request` with the file's contents as its body, and passes the response to `completionHandler`.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsession/uploadtask(with:fromfile:completionhandler:)>
    open func uploadTask(
        with request: URLRequest,
        fromFile fileURL: URL,
        completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionUploadTask {
        makeUploadTask(request, .file(fileURL), .dataHandler(completionHandler))
    }

    /// Creates a task that sends `request` with `bodyData` (nil for none), and passes the response to `completionHandler`.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsession/uploadtask(with:from:completionhandler:)>
    open func uploadTask(
        with request: URLRequest,
        from bodyData: Data?,
        completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionUploadTask {
        makeUploadTask(request, .data(bodyData ?? Data()), .dataHandler(completionHandler))
    }

    /// Creates a task that sends `request` with the contents of a stream: the one that the delegate returns from
    /// `urlSession(_:task:needNewBodyStream:)`, or else the request's `httpBodyStream`.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsession/uploadtask(withstreamedrequest:)>
    open func uploadTask(withStreamedRequest request: URLRequest) -> URLSessionUploadTask {
        makeUploadTask(request, .stream, .delegate)
    }

    /// Creates a task that resumes the upload described by `resumeData`, from the server's offset, or from the beginning if the server no
    /// longer knows the upload or the file has changed.
    ///
    /// Looks up the body's file on the caller's thread, which may block on the file system.
    ///
    /// The data is untrusted. If it is damaged or forged, the task fails with `URLError.unsupportedURL`; if the body's file is gone, with
    /// `.cannotOpenFile` or `.fileDoesNotExist`. A background session resumes only uploads from files. The body of a streamed upload comes
    /// from the delegate's `urlSession(_:task:needNewBodyStreamFrom:)`. See <doc:ResumableUploads>.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsession/uploadtask(withresumedata:)>
    open func uploadTask(withResumeData resumeData: Data) -> URLSessionUploadTask {
        makeUploadTask(resumeData, .delegate)
    }

    /// Creates a task that resumes an upload, and passes the response to `completionHandler`; see ``uploadTask(withResumeData:)``.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsession/uploadtask(withresumedata:completionhandler:)>
    open func uploadTask(
        withResumeData resumeData: Data,
        completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionUploadTask {
        makeUploadTask(resumeData, .dataHandler(completionHandler))
    }

    // MARK: - Download tasks

    /// Creates a task that writes the response to `request` to a temporary file for the delegate.
    open func downloadTask(with request: URLRequest) -> URLSessionDownloadTask {
        makeDownloadTask(request, .downloadDelegate)
    }

    /// Creates a task that writes the response to a GET for `url` to a temporary file for the delegate.
    open func downloadTask(with url: URL) -> URLSessionDownloadTask {
        makeDownloadTask(makeRequest(url), .downloadDelegate)
    }

    /// Creates a task that resumes the download described by `resumeData`.
    ///
    /// The data is untrusted. If it is damaged or forged, the task fails with `URLError.unsupportedURL`; if the partial file is gone or has
    /// changed, the download starts over.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsession/downloadtask(withresumedata:)>
    open func downloadTask(withResumeData resumeData: Data) -> URLSessionDownloadTask {
        makeDownloadTask(resumeData, .downloadDelegate)
    }

    /// Creates a task that writes the response to `request` to a temporary file for `completionHandler`. The file is removed when the
    /// handler returns.
    open func downloadTask(
        with request: URLRequest,
        completionHandler: @escaping @Sendable (URL?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionDownloadTask {
        makeDownloadTask(request, .fileHandler(completionHandler))
    }

    /// Creates a task that writes the response to a GET for `url` to a temporary file for `completionHandler`.
    open func downloadTask(
        with url: URL,
        completionHandler: @escaping @Sendable (URL?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionDownloadTask {
        makeDownloadTask(makeRequest(url), .fileHandler(completionHandler))
    }

    /// Creates a task that resumes a download for `completionHandler`; see ``downloadTask(withResumeData:)``.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsession/downloadtask(withresumedata:completionhandler:)>
    open func downloadTask(
        withResumeData resumeData: Data,
        completionHandler: @escaping @Sendable (URL?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionDownloadTask {
        makeDownloadTask(resumeData, .fileHandler(completionHandler))
    }

    // MARK: - Web sockets

    /// Creates a task that opens a web socket at `url`, whose scheme is ws or wss; http, https, and the schemes for Unix sockets
    /// (`ws+unix`) also work.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessionwebsockettask>
    open func webSocketTask(with url: URL) -> URLSessionWebSocketTask {
        makeWebSocketTask(makeRequest(url), protocols: [])
    }

    /// Creates a task that opens a web socket at `url`, offering `protocols` in order of preference. The server needn't choose one:
    /// `urlSession(_:webSocketTask:didOpenWithProtocol:)` reports its choice. Names that aren't tokens (RFC 6455 §4.1) fail the task.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsession/websockettask(with:protocols:)>
    open func webSocketTask(with url: URL, protocols: [String]) -> URLSessionWebSocketTask {
        makeWebSocketTask(makeRequest(url), protocols: protocols)
    }

    /// Creates a task that opens a web socket with the header fields of `request`, which is sent as a GET without a body. Its
    /// `Sec-WebSocket-Protocol` field, or else that of the configuration's `httpAdditionalHeaders`, lists the protocols that the program
    /// speaks.
    open func webSocketTask(with request: URLRequest) -> URLSessionWebSocketTask {
        let field = request.value(forHTTPHeaderField: WebSocketHandshake.protocolField)
        return makeWebSocketTask(request, protocols: WebSocketHandshake.protocols(in: field))
    }
}
