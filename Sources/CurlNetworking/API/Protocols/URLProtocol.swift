import Foundation
import CurlNetworkingLocks

/// The base class for custom loading of requests, for example to mock the network in tests.
///
/// A session asks the classes in ``URLSessionConfiguration/protocolClasses`` in order; a request that none of them handles goes to the
/// network. Class methods are called on a queue of the task. An object is created, started and stopped on one thread with a running run
/// loop, so timers and streams scheduled there work. Neither the queue nor the thread is the event loop's. See <doc:Protocols>.
///
/// Source: <https://developer.apple.com/documentation/foundation/urlprotocol>
open class URLProtocol: NSObject {
    private let storedRequest: URLRequest
    private let storedCachedResponse: CachedURLResponse?
    private var storedClient: (any URLProtocolClient)?
    private var storedTask: URLSessionTask?

    /// Creates a protocol object that loads `request` and reports to `client`.
    public required init(
        request: URLRequest,
        cachedResponse: CachedURLResponse?,
        client: (any URLProtocolClient)?
    ) {
        storedRequest = request
        storedCachedResponse = cachedResponse
        storedClient = client
    }

    /// Creates a protocol object that loads the task's current request and reports to `client`. Sessions call this initialiser. An upload
    /// task's data is the request's `httpBody`; its file or stream is the request's `httpBodyStream`; a redirect may have dropped both.
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

    /// The response in the session's cache for the request's URL, fresh or not, if the request's policy permits using the cache. The object
    /// decides whether to use it; see ``URLProtocolClient/urlProtocol(_:cachedResponseIsValid:)``.
    open var cachedResponse: CachedURLResponse? { storedCachedResponse }

    /// The task whose request the object loads.
    open var task: URLSessionTask? {
        get { storedTask }
        set { storedTask = newValue }
    }

    // MARK: - For subclasses

    /// Starts loading; reports may come from any thread. Subclasses must override this method, which otherwise fails the task.
    open func startLoading() {
        client?.urlProtocol(
            self,
            didFailWithError: URLError(.unsupportedURL, url: request.url, "\(type(of: self)) doesn't load anything.")
        )
    }

    /// Stops loading. Called once, on the thread of ``startLoading()``, when the task is cancelled or has failed, and also after the object
    /// has reported the end. Later reports are ignored. Not called on suspension.
    open func stopLoading() {}

    /// Whether the class loads `request`. Subclasses must override this method or the one for tasks; this implementation returns false.
    open class func canInit(with request: URLRequest) -> Bool { false }

    /// Whether the class loads `task`; by default, whether it can load the task's current request.
    open class func canInit(with task: URLSessionTask) -> Bool {
        (task.engine?.requestWithBody ?? task.currentRequest).map { canInit(with: $0) } ?? false
    }

    /// Returns the canonical form of `request`; by default `request` itself. It becomes the task's current request and the object's
    /// request.
    open class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

    /// Whether two requests may share a cached response; by default, whether they are equal. Not called by this module, whose cache looks
    /// responses up by URL.
    open class func requestIsCacheEquivalent(_ a: URLRequest, to b: URLRequest) -> Bool { a == b }

    // MARK: - Properties of requests

    /// Returns the value stored under `key` in `request`, or in a request that it was copied from; nil if there is none.
    open class func property(forKey key: String, in request: URLRequest) -> Any? {
        RequestProperties.value(forKey: key, in: request)
            ?? FoundationNetworking.URLProtocol.property(forKey: key, in: request)
    }

    /// Stores `value` in `request` under `key`. Copies of the request keep the value if a property list can hold it and no more than 500
    /// arrays and dictionaries are in each other; any other value stays with this one object.
    ///
    /// The value is kept in a header field, which `allHTTPHeaderFields` shows. Sessions of this module never send that field, but any other
    /// code that sends the request's fields, such as a stock `URLSession`, does, and the value can be read from it. Remove the value with
    /// ``removeProperty(forKey:in:)`` before passing the request to such code, or to code that signs or logs all fields.
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

    /// Makes ``URLSession/shared`` ask `protocolClass` first, with immediate effect. Other sessions ask only the classes of their
    /// configuration. Returns false unless it is a subclass of this class or of the stock module's. Any thread.
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

    /// Removes all registrations of `protocolClass`. Any thread.
    open class func unregisterClass(_ protocolClass: AnyClass) {
        registered.withLock { $0.removeAll { $0.type == protocolClass } }
    }

    static var registeredClasses: [ProtocolClass] { registered.withLock { $0 } }
}

/// The interface through which a ``URLProtocol`` reports. All methods may be called from any thread, and return at once.
///
/// A load has one response, then data, then one end: finished, failed or redirected. Only the first of several responses counts, data
/// reported earlier is held for it, and anything after the end is ignored.
///
/// Source: <https://developer.apple.com/documentation/foundation/urlprotocolclient>
public protocol URLProtocolClient: NSObjectProtocol, Sendable {
    /// Reports that the response is a redirect, which ends this load. `request` is loaded instead, by a class that handles it or from the
    /// network.
    ///
    /// If `redirectResponse` is an `HTTPURLResponse`, the delegate is asked first (`willPerformHTTPRedirection`). If it refuses, the
    /// redirect is the task's response, without a body.
    func urlProtocol(_ protocol: URLProtocol, wasRedirectedTo request: URLRequest, redirectResponse: URLResponse)

    /// Reports that the cached response is valid. If the load finishes without another one, it becomes the task's.
    func urlProtocol(_ protocol: URLProtocol, cachedResponseIsValid cachedResponse: CachedURLResponse)

    /// Reports the response's head. Once its body is complete, a data task's response to a GET is stored in the session's cache if `policy`
    /// allows it; the delegate is asked first (`willCacheResponse`).
    func urlProtocol(
        _ protocol: URLProtocol,
        didReceive response: URLResponse,
        cacheStoragePolicy policy: URLCache.StoragePolicy
    )

    /// Reports the next bytes of the body. They are held, without copying, while the task is suspended or its consumer is busy.
    func urlProtocol(_ protocol: URLProtocol, didLoad data: Data)

    /// Reports that the body is complete.
    func urlProtocolDidFinishLoading(_ protocol: URLProtocol)

    /// Reports that loading failed. The task completes with exactly this error.
    func urlProtocol(_ protocol: URLProtocol, didFailWithError error: any Error)

    /// Asks for an answer to a challenge. The delegate is asked as for a server's challenge. Its answer, or the default handling if there
    /// is no delegate, is passed to the challenge's `sender` on the thread of ``URLProtocol/startLoading()``. If the answer is to cancel,
    /// the task also ends with `URLError.cancelled`.
    func urlProtocol(_ protocol: URLProtocol, didReceive challenge: URLAuthenticationChallenge)

    /// Withdraws a challenge: the delegate is no longer asked, and the challenge's sender gets no answer.
    func urlProtocol(_ protocol: URLProtocol, didCancel challenge: URLAuthenticationChallenge)
}
