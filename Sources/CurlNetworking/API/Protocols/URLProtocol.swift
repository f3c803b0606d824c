import Foundation
import CurlNetworkingLocks

/// Loads requests the program's own way, for example to mock the network in tests.
///
/// A session asks the classes in ``URLSessionConfiguration/protocolClasses`` in order; a request that none of them takes goes to the
/// network. Class methods are called on a queue of the task. Objects are made, started and stopped on one thread with a running run loop,
/// the same for all calls of one object, so timers and streams scheduled there work. Neither is the event loop. See <doc:Protocols>.
///
/// Source: <https://developer.apple.com/documentation/foundation/urlprotocol>
open class URLProtocol: NSObject {
    private let storedRequest: URLRequest
    private let storedCachedResponse: CachedURLResponse?
    private var storedClient: (any URLProtocolClient)?
    private var storedTask: URLSessionTask?

    /// A protocol object for `request`, which reports to `client`.
    public required init(
        request: URLRequest,
        cachedResponse: CachedURLResponse?,
        client: (any URLProtocolClient)?
    ) {
        storedRequest = request
        storedCachedResponse = cachedResponse
        storedClient = client
    }

    /// A protocol object for the task's current request, which reports to `client`. Sessions call this initialiser. An upload task's data
    /// is the request's `httpBody`; its file or stream is the request's `httpBodyStream`.
    public required convenience init(
        task: URLSessionTask,
        cachedResponse: CachedURLResponse?,
        client: (any URLProtocolClient)?
    ) {
        let request = task.engine?.requestWithBody ?? task.currentRequest
        self.init(
            request: request ?? URLRequest(url: URL(fileURLWithPath: "/dev/null")),
            cachedResponse: cachedResponse,
            client: client
        )
        storedTask = task
    }

    /// The client that the object reports to.
    open var client: (any URLProtocolClient)? {
        get { storedClient }
        set { storedClient = newValue }
    }

    /// The request that the object loads.
    open var request: URLRequest { storedRequest }

    /// The response in the session's cache for the request's URL, fresh or not, if the request's policy permits using the cache. It is up
    /// to the object whether to use it; see ``URLProtocolClient/urlProtocol(_:cachedResponseIsValid:)``.
    open var cachedResponse: CachedURLResponse? { storedCachedResponse }

    /// The task that the object works for.
    open var task: URLSessionTask? {
        get { storedTask }
        set { storedTask = newValue }
    }

    // MARK: - For subclasses

    /// Starts loading, and reports to the client from any thread. Subclasses must override it; this implementation fails the task.
    open func startLoading() {
        client?.urlProtocol(
            self,
            didFailWithError: URLError(.unsupportedURL, request.url, "\(type(of: self)) doesn't load anything.")
        )
    }

    /// Stops loading. Called once, on the thread of ``startLoading()``: when the task is cancelled or has failed, and also after the object
    /// has reported the end. Later reports are ignored. Not called when the task is suspended.
    open func stopLoading() {}

    /// Whether the class loads `request`. Subclasses must override this or the method for tasks; this implementation returns false.
    open class func canInit(with request: URLRequest) -> Bool { false }

    /// Whether the class loads `task`; by default, whether it loads the task's current request.
    open class func canInit(with task: URLSessionTask) -> Bool {
        (task.engine?.requestWithBody ?? task.currentRequest).map { canInit(with: $0) } ?? false
    }

    /// The form of `request` that equivalent requests share; by default `request` itself. It becomes the current request of the task, and
    /// the object's request.
    open class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

    /// Whether two requests may share a cached response; by default if they are equal. Not called by this module, whose cache finds
    /// responses by URL.
    open class func requestIsCacheEquivalent(_ a: URLRequest, to b: URLRequest) -> Bool { a == b }

    // MARK: - Properties of requests

    /// The value stored under `key` in `request`, or in a request that it is a copy of; nil if there is none.
    open class func property(forKey key: String, in request: URLRequest) -> Any? {
        RequestProperties.value(forKey: key, in: request)
            ?? FoundationNetworking.URLProtocol.property(forKey: key, in: request)
    }

    /// Stores `value` in `request` under `key`. Copies of the request keep it if a property list can hold it; any other value stays with
    /// this one object.
    ///
    /// Copies keep it in a header field, which `allHTTPHeaderFields` shows. Sessions of this module never send that field, but any other code
    /// that sends the request's fields does, such as a stock `URLSession`, and the value can be read from it. So remove the value with
    /// ``removeProperty(forKey:in:)`` before a request goes to such code, or to some that signs or logs all fields.
    open class func setProperty(_ value: Any, forKey key: String, in request: NSMutableURLRequest) {
        removeProperty(forKey: key, in: request)
        guard !RequestProperties.set(value, forKey: key, in: request) else { return }
        FoundationNetworking.URLProtocol.setProperty(value, forKey: key, in: request)
    }

    /// Removes the value stored under `key` in `request`.
    open class func removeProperty(forKey key: String, in request: NSMutableURLRequest) {
        RequestProperties.remove(key, in: request)
        FoundationNetworking.URLProtocol.removeProperty(forKey: key, in: request)
    }

    // MARK: - Registration

    private static let registered = Mutex<[ProtocolClass]>([])

    /// Makes ``URLSession/shared`` ask `protocolClass` before all others, at once. Other sessions ask only the classes of their
    /// configuration. False if it is neither a subclass of this class nor of the stock module's. Any thread.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlprotocol/registerclass(_:)>
    @discardableResult
    open class func registerClass(_ protocolClass: AnyClass) -> Bool {
        switch ProtocolClass(protocolClass) {
        case nil, .unusable: return false
        case let usable?:
            registered.withLock { $0.insert(usable, at: 0) }
            return true
        }
    }

    /// Undoes all registrations of `protocolClass`. Any thread.
    open class func unregisterClass(_ protocolClass: AnyClass) {
        registered.withLock { $0.removeAll { $0.type == protocolClass } }
    }

    static var registeredClasses: [ProtocolClass] { registered.withLock { $0 } }
}

/// Receives the reports of a ``URLProtocol``. All methods may be called from any thread, and return at once.
///
/// A load has one response, then data, then one end: finished, failed or redirected. Only the first of several responses counts, data that
/// is reported before it waits for it, and anything after the end is ignored.
///
/// Source: <https://developer.apple.com/documentation/foundation/urlprotocolclient>
public protocol URLProtocolClient: NSObjectProtocol, Sendable {
    /// The response is a redirect, and this load has ended. `request` is loaded instead, by a class that takes it or from the network.
    ///
    /// If `redirectResponse` is an `HTTPURLResponse`, the delegate is asked first (`willPerformHTTPRedirection`). If it refuses, that is the
    /// task's response, without a body.
    func urlProtocol(_ protocol: URLProtocol, wasRedirectedTo request: URLRequest, redirectResponse: URLResponse)

    /// The cached response is valid. If the load then finishes without another response, it becomes the task's.
    func urlProtocol(_ protocol: URLProtocol, cachedResponseIsValid cachedResponse: CachedURLResponse)

    /// The response's head has arrived. Once its body is complete, a data task's response to a GET is stored in the session's cache if
    /// `policy` allows it; the delegate is asked first (`willCacheResponse`).
    func urlProtocol(
        _ protocol: URLProtocol,
        didReceive response: URLResponse,
        cacheStoragePolicy policy: URLCache.StoragePolicy
    )

    /// The next bytes of the body. They are held, without copying, while the task is suspended or its consumer is busy.
    func urlProtocol(_ protocol: URLProtocol, didLoad data: Data)

    /// The body is complete.
    func urlProtocolDidFinishLoading(_ protocol: URLProtocol)

    /// Loading has failed. The task completes with exactly this error.
    func urlProtocol(_ protocol: URLProtocol, didFailWithError error: any Error)

    /// Asks for an answer to a challenge. The delegate is asked as for a server's challenge, and its answer, or the default handling without
    /// a delegate, is passed to the challenge's `sender`, on the thread of ``URLProtocol/startLoading()``. If the answer is to cancel, the
    /// task also ends with `URLError.cancelled`.
    func urlProtocol(_ protocol: URLProtocol, didReceive challenge: URLAuthenticationChallenge)

    /// Withdraws a challenge: the delegate is no longer asked, and its sender gets no answer.
    func urlProtocol(_ protocol: URLProtocol, didCancel challenge: URLAuthenticationChallenge)
}
