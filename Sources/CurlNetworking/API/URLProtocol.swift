import Foundation
import Locks

/// Loads requests in a program's own way: the usual means of mocking a network in tests.
///
/// A session asks the classes in ``URLSessionConfiguration/protocolClasses`` first, in their order; what none of them takes goes
/// to the network. Class methods are called on a queue of the task. Objects are made, started and stopped on a thread whose run
/// loop runs, the same for all calls of one object: timers and streams scheduled there fire. Neither is the event loop. See
/// <doc:Protocols>.
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

    /// A protocol object for the task's current request, which reports to `client`. This is the one that sessions call. An
    /// upload task's data is the request's `httpBody`, its file or stream the request's `httpBodyStream`.
    public required convenience init(
        task: URLSessionTask,
        cachedResponse: CachedURLResponse?,
        client: (any URLProtocolClient)?
    ) {
        let request = task.runner?.requestWithBody ?? task.currentRequest
        self.init(
            request: request ?? URLRequest(url: URL(fileURLWithPath: "/dev/null")),
            cachedResponse: cachedResponse,
            client: client
        )
        storedTask = task
    }

    /// Whom the object reports to.
    open var client: (any URLProtocolClient)? {
        get { storedClient }
        set { storedClient = newValue }
    }

    /// What the object loads.
    open var request: URLRequest { storedRequest }

    /// What the session's cache holds for the request's URL, fresh or not, if the request's policy lets it be looked for.
    /// Whether it is used is the object's decision; see ``URLProtocolClient/urlProtocol(_:cachedResponseIsValid:)``.
    open var cachedResponse: CachedURLResponse? { storedCachedResponse }

    /// The task that the object works for.
    open var task: URLSessionTask? {
        get { storedTask }
        set { storedTask = newValue }
    }

    // MARK: - What subclasses do

    /// Starts loading, and reports to the client from any thread. Subclasses must override it; this one fails the task.
    open func startLoading() {
        client?.urlProtocol(
            self,
            didFailWithError: URLError(.unsupportedURL, request.url, "\(type(of: self)) doesn't load anything.")
        )
    }

    /// Stops loading. Called once, on the thread of ``startLoading()``: when the task is cancelled or has failed, and also after
    /// what the object has reported as the end. What it reports later is dropped. Suspending a task doesn't call it.
    open func stopLoading() {}

    /// Whether the class loads `request`. Subclasses must override this or its sibling for tasks; this one says no.
    open class func canInit(with request: URLRequest) -> Bool { false }

    /// Whether the class loads `task`; asks for its current request.
    open class func canInit(with task: URLSessionTask) -> Bool {
        (task.runner?.requestWithBody ?? task.currentRequest).map { canInit(with: $0) } ?? false
    }

    /// `request` in the form that equivalent requests share; by default itself. It becomes the task's current request, and
    /// the object's.
    open class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

    /// Whether two requests may share a cached response; by default when they are equal. This module doesn't ask: in its
    /// cache, responses are found by URL.
    open class func requestIsCacheEquivalent(_ a: URLRequest, to b: URLRequest) -> Bool { a == b }

    // MARK: - Properties of requests

    /// What was stored in `request`, or in one that it is a copy of, under `key`; nil for nothing.
    open class func property(forKey key: String, in request: URLRequest) -> Any? {
        RequestProperties.value(forKey: key, in: request)
            ?? FoundationNetworking.URLProtocol.property(forKey: key, in: request)
    }

    /// Stores `value` in `request` under `key`. Copies keep it, if it is something that a property list can hold; anything else
    /// stays behind with this very object. It never goes out with the request, though in `allHTTPHeaderFields` it can be seen
    /// that there is something.
    open class func setProperty(_ value: Any, forKey key: String, in request: NSMutableURLRequest) {
        removeProperty(forKey: key, in: request)
        guard !RequestProperties.set(value, forKey: key, in: request) else { return }
        FoundationNetworking.URLProtocol.setProperty(value, forKey: key, in: request)
    }

    /// Removes what is stored in `request` under `key`.
    open class func removeProperty(forKey key: String, in request: NSMutableURLRequest) {
        RequestProperties.remove(key, in: request)
        FoundationNetworking.URLProtocol.removeProperty(forKey: key, in: request)
    }

    // MARK: - Registration

    private static let registered = Mutex<[ProtocolClass]>([])

    /// Puts `protocolClass` ahead of all others in ``URLSession/shared``, at once. Other sessions ask the classes of their
    /// configuration alone. False where it is no subclass of this class, nor of the stock module's. Any thread.
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

    /// Takes back the registration of `protocolClass`, however often it was registered. Any thread.
    open class func unregisterClass(_ protocolClass: AnyClass) {
        registered.withLock { $0.removeAll { $0.type == protocolClass } }
    }

    static var registeredClasses: [ProtocolClass] { registered.withLock { $0 } }
}

/// What a ``URLProtocol`` reports to. All methods may be called from any thread, and return at once.
///
/// A load has one response, then data, then one end: finished, failed or redirected. Of several responses the first counts, data
/// that comes before it waits for it, and what comes after the end is dropped.
///
/// Source: <https://developer.apple.com/documentation/foundation/urlprotocolclient>
public protocol URLProtocolClient: NSObjectProtocol, Sendable {
    /// The response is a redirect; `request` is to be loaded instead, by whichever class takes it, or by the network. The end
    /// of this load.
    ///
    /// The delegate is asked first (`willPerformHTTPRedirection`), where `redirectResponse` is an `HTTPURLResponse`; if it
    /// refuses, that is the task's response, without a body.
    func urlProtocol(_ protocol: URLProtocol, wasRedirectedTo request: URLRequest, redirectResponse: URLResponse)

    /// The cached response is good. If the load then finishes without any other response, it is the task's.
    func urlProtocol(_ protocol: URLProtocol, cachedResponseIsValid cachedResponse: CachedURLResponse)

    /// The response's head is there. Once its body is complete, a data task's response to a GET goes into the session's cache,
    /// where `policy` allows it; the delegate is asked first (`willCacheResponse`).
    func urlProtocol(
        _ protocol: URLProtocol,
        didReceive response: URLResponse,
        cacheStoragePolicy policy: URLCache.StoragePolicy
    )

    /// The next bytes of the body. They wait, uncopied, while the task is suspended or its consumer has enough.
    func urlProtocol(_ protocol: URLProtocol, didLoad data: Data)

    /// The body is complete.
    func urlProtocolDidFinishLoading(_ protocol: URLProtocol)

    /// Loading has failed. The task's owner gets this very error.
    func urlProtocol(_ protocol: URLProtocol, didFailWithError error: any Error)

    /// A challenge is to be answered. The delegate is asked as for challenges of servers; its answer goes to the challenge's
    /// `sender`, on the thread of ``URLProtocol/startLoading()``. Without a delegate that is the default handling. Where the
    /// answer is to cancel, the task ends with `URLError.cancelled` besides.
    func urlProtocol(_ protocol: URLProtocol, didReceive challenge: URLAuthenticationChallenge)

    /// A challenge was withdrawn: it is no longer asked, and its sender hears of no answer.
    func urlProtocol(_ protocol: URLProtocol, didCancel challenge: URLAuthenticationChallenge)
}
