import Curl
import Foundation

/// Coordinates a group of related network transfers: `URLSession` as Apple documents it, on libcurl.
///
/// A session has connections, an event loop's share and a delegate of its own. It keeps its delegate until it is
/// invalidated, and its tasks from their creation to their completion. A session that is dropped without being invalidated lets go of
/// everything as soon as the tasks that were resumed are done. Safe to use from any thread.
///
/// Source: <https://developer.apple.com/documentation/foundation/urlsession>
open class URLSession: NSObject, NSCopying, @unchecked Sendable {
    // @unchecked is true because nothing of it changes, and what it holds guards itself.
    let core: SessionCore
    /// Tasks that were never resumed: with the session's object they go.
    let createdTasks = CreatedTasks()

    private static let sharedSession = URLSession(shared: .default)

    /// The session for simple requests: default configuration, no delegate. Invalidating it has no effect.
    open class var shared: URLSession { sharedSession }

    /// A session with a copy of `configuration` and without a delegate.
    public init(configuration: URLSessionConfiguration) {
        core = Self.makeCore(configuration, nil, nil)
        super.init()
        core.represent(by: self)
    }

    /// A session.
    ///
    /// - Parameters:
    ///   - configuration: Copied: later changes to it have no effect.
    ///   - delegate: Kept until it has heard `urlSession(_:didBecomeInvalidWithError:)`.
    ///   - queue: Where the delegate and completion handlers are called; nil for a serial queue of the session's own.
    public init(
        configuration: URLSessionConfiguration,
        delegate: (any URLSessionDelegate)?,
        delegateQueue queue: OperationQueue?
    ) {
        core = Self.makeCore(configuration, delegate, queue)
        super.init()
        core.represent(by: self)
    }

    /// Both public initialisers are designated: a subclass may call either.
    private static func makeCore(
        _ configuration: URLSessionConfiguration,
        _ delegate: (any URLSessionDelegate)?,
        _ queue: OperationQueue?
    ) -> SessionCore {
        let copy = configuration.copy() as? URLSessionConfiguration ?? configuration
        do {
            try copy.curl.validate()
            try copy.validateTLSVersions()
        } catch {
            preconditionFailure("\(error)")
        }
        for warning in copy.warnings + copy.curl.warnings {
            FileHandle.standardError.write(Data((warning + "\n").utf8))
        }
        if copy.curl.ignoresBrokenPipeSignal { CurlLibrary.ignoreBrokenPipeSignal() }
        return SessionCore(
            copy,
            settings: SessionSettings(copy),
            delegate: delegate,
            delegateQueue: queue ?? makeDelegateQueue()
        )
    }

    private init(shared configuration: URLSessionConfiguration) {
        CurlLibrary.ignoreBrokenPipeSignal()
        let settings = SessionSettings(configuration, consultsRegisteredProtocols: true)
        core = SessionCore(configuration, settings: settings, delegate: nil, delegateQueue: Self.makeDelegateQueue())
        super.init()
        core.represent(by: self)
    }

    /// Another object for a session whose own the program has dropped, while it still holds tasks.
    init(of core: SessionCore) {
        self.core = core
        super.init()
        core.represent(by: self)
    }

    private static func makeDelegateQueue() -> OperationQueue {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        return queue
    }

    /// The session itself: sessions have an identity, and no copies.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsession#Foundation-copying-behavior>
    open override func copy() -> Any { self }

    /// The session itself: sessions have an identity, and no copies.
    open func copy(with zone: NSZone?) -> Any { self }

    // MARK: - What it is made of

    /// Where the delegate and completion handlers are called.
    open var delegateQueue: OperationQueue { core.deliveryQueue.operations }

    /// The delegate, until it has heard that the session has become invalid.
    open var delegate: (any URLSessionDelegate)? { core.delegates.session }

    /// A copy of the session's configuration: changes have no effect on the session.
    open var configuration: URLSessionConfiguration {
        core.configuration.copy() as? URLSessionConfiguration ?? core.configuration
    }

    /// The program's own words for the session.
    open var sessionDescription: String? {
        get { core.description }
        set { core.description = newValue }
    }

    // MARK: - The end

    /// Takes no new tasks, lets those there are finish, and then becomes invalid. No effect on ``shared``.
    ///
    /// It waits for a task that was never resumed as long as the program holds that; one that nobody holds goes at once.
    open func finishTasksAndInvalidate() {
        guard self !== Self.sharedSession else { return }
        core.finishTasksAndInvalidate(self)
    }

    /// Cancels all tasks and becomes invalid. No effect on ``shared``.
    open func invalidateAndCancel() {
        guard self !== Self.sharedSession else { return }
        // Those that were never resumed would go with the invalidation, and not be cancelled.
        let tasks = core.allTasks
        core.finishTasksAndInvalidate(self)
        for task in core.allTasks { task.cancel() }
        withExtendedLifetime(tasks) {}
    }

    /// Empties the session's cookies, cache and credentials, and has later requests use new connections.
    ///
    /// `completionHandler` is called on the delegate queue.
    open func reset(completionHandler: @escaping @Sendable () -> Void) {
        let configuration = core.configuration
        core.forgetCredentials()
        // The storages may write files.
        DispatchQueue.global(qos: .utility).async {
            configuration.emptyStorages()
            self.flush(completionHandler: completionHandler)
        }
    }

    /// Has later requests use new connections, and waits until what is to be stored is; tasks under way keep their connections.
    ///
    /// `completionHandler` is called on the delegate queue, when the cookies of all responses so far, what of them is cached, and
    /// what they said of ``CurlOptions/strictTransportSecurity``, are in the storages and their files. Source:
    /// <https://developer.apple.com/documentation/foundation/urlsession/flush(completionhandler:)>
    open func flush(completionHandler: @escaping @Sendable () -> Void) {
        let (settings, queue) = (core.settings, core.deliveryQueue)
        core.renewConnections {
            settings.afterStorageWrites { queue.addOperation(completionHandler) }
        }
    }

    // MARK: - Its tasks

    /// Hands over the tasks that are neither completed nor cancelled, by kind, on the delegate queue.
    open func getTasksWithCompletionHandler(
        _ completionHandler:
            @escaping @Sendable ([URLSessionDataTask], [URLSessionUploadTask], [URLSessionDownloadTask])
            -> Void
    ) {
        core.deliveryQueue.addOperation {
            let (data, uploads, downloads) = self.tasksByKind
            completionHandler(data, uploads, downloads)
        }
    }

    /// Hands over the tasks that are neither completed nor cancelled, by kind, on the delegate queue.
    ///
    /// Disfavoured: a trailing closure fits both spellings.
    @_disfavoredOverload
    public func getTasksWithCompletionHandler(
        completionHandler:
            @escaping @Sendable ([URLSessionDataTask], [URLSessionUploadTask], [URLSessionDownloadTask])
            -> Void
    ) {
        getTasksWithCompletionHandler(completionHandler)
    }

    /// Hands over all tasks that are neither completed nor cancelled, on the delegate queue.
    open func getAllTasks(completionHandler: @escaping @Sendable ([URLSessionTask]) -> Void) {
        core.deliveryQueue.addOperation { completionHandler(self.core.tasks) }
    }

    // MARK: - Data tasks
    //
    // All tasks start suspended; creating one on an invalidated session is a programming error and traps.

    /// A task that delivers the response to `request` to the delegate.
    open func dataTask(with request: URLRequest) -> URLSessionDataTask {
        makeDataTask(request, .stream, .delegate)
    }

    /// A task that delivers the response to a GET of `url` to the delegate.
    open func dataTask(with url: URL) -> URLSessionDataTask {
        dataTask(with: makeRequest(url))
    }

    /// A task that hands the whole response to `request` to `completionHandler`, on the delegate queue.
    open func dataTask(
        with request: URLRequest,
        completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionDataTask {
        makeDataTask(request, .memory, .dataHandler(completionHandler))
    }

    /// A task that hands the whole response to a GET of `url` to `completionHandler`, on the delegate queue.
    open func dataTask(
        with url: URL,
        completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionDataTask {
        dataTask(with: makeRequest(url), completionHandler: completionHandler)
    }

    // MARK: - Upload tasks

    /// A task that sends `request` with the file's content as its body. The file is read as it is sent.
    open func uploadTask(with request: URLRequest, fromFile fileURL: URL) -> URLSessionUploadTask {
        makeUploadTask(request, .file(fileURL), .stream, .delegate)
    }

    /// A task that sends `request` with `bodyData` as its body.
    open func uploadTask(with request: URLRequest, from bodyData: Data) -> URLSessionUploadTask {
        makeUploadTask(request, .data(bodyData), .stream, .delegate)
    }

    /// A task that sends `request` with the file's content, and hands the response to `completionHandler`.
    open func uploadTask(
        with request: URLRequest,
        fromFile fileURL: URL,
        completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionUploadTask {
        makeUploadTask(request, .file(fileURL), .memory, .dataHandler(completionHandler))
    }

    /// A task that sends `request` with `bodyData` (nil for none), and hands the response to `completionHandler`.
    open func uploadTask(
        with request: URLRequest,
        from bodyData: Data?,
        completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionUploadTask {
        makeUploadTask(request, .data(bodyData ?? Data()), .memory, .dataHandler(completionHandler))
    }

    /// A task that sends `request` with the body of the stream that the delegate returns from
    /// `urlSession(_:task:needNewBodyStream:)`, or else of its `httpBodyStream`.
    open func uploadTask(withStreamedRequest request: URLRequest) -> URLSessionUploadTask {
        makeUploadTask(request, .stream, .stream, .delegate)
    }

    // MARK: - Download tasks

    /// A task that writes the response to `request` into a temporary file for the delegate.
    open func downloadTask(with request: URLRequest) -> URLSessionDownloadTask {
        makeDownloadTask(request, .delegate)
    }

    /// A task that writes the response to a GET of `url` into a temporary file for the delegate.
    open func downloadTask(with url: URL) -> URLSessionDownloadTask {
        downloadTask(with: makeRequest(url))
    }

    /// A task that goes on with a download that `resumeData` describes.
    ///
    /// The data is untrusted: where it is damaged or forged the task fails with `URLError.unsupportedURL`, and
    /// where the partial file is gone or changed it starts from zero.
    open func downloadTask(withResumeData resumeData: Data) -> URLSessionDownloadTask {
        makeDownloadTask(resumeData, .delegate)
    }

    /// A task that writes the response to `request` into a temporary file for `completionHandler`; the file is removed
    /// when the handler returns.
    open func downloadTask(
        with request: URLRequest,
        completionHandler: @escaping @Sendable (URL?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionDownloadTask {
        makeDownloadTask(request, .fileHandler(completionHandler))
    }

    /// A task that writes the response to a GET of `url` into a temporary file for `completionHandler`.
    open func downloadTask(
        with url: URL,
        completionHandler: @escaping @Sendable (URL?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionDownloadTask {
        downloadTask(with: makeRequest(url), completionHandler: completionHandler)
    }

    /// A task that goes on with a download, for `completionHandler`; see ``downloadTask(withResumeData:)``.
    open func downloadTask(
        withResumeData resumeData: Data,
        completionHandler: @escaping @Sendable (URL?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionDownloadTask {
        makeDownloadTask(resumeData, .fileHandler(completionHandler))
    }
}
