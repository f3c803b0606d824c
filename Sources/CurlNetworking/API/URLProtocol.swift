import Foundation
import Locks

/// Loads requests in a program's own way: the usual means of mocking a network in tests.
///
/// A session asks the classes in ``URLSessionConfiguration/protocolClasses`` first, in their order; what none of them takes goes
/// to the network. All class and instance methods are called on a queue of the task, never on the event loop, one at a time.
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

    /// A protocol object for the task's current request, which reports to `client`.
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

    /// A cached response to the request, if there is one.
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

    /// Stops loading; called once, at the latest after the task's end. What is reported later is dropped.
    open func stopLoading() {}

    /// Whether the class loads `request`. Subclasses must override this or its sibling for tasks; this one says no.
    open class func canInit(with request: URLRequest) -> Bool { false }

    /// Whether the class loads `task`; asks for its current request.
    open class func canInit(with task: URLSessionTask) -> Bool {
        (task.runner?.requestWithBody ?? task.currentRequest).map { canInit(with: $0) } ?? false
    }

    /// `request` in the form that equivalent requests share; by default itself.
    open class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

    /// Whether two requests may share a cached response; by default when they are equal.
    open class func requestIsCacheEquivalent(_ a: URLRequest, to b: URLRequest) -> Bool { a == b }

    // MARK: - Properties of requests

    /// What was stored in `request` under `key`.
    open class func property(forKey key: String, in request: URLRequest) -> Any? {
        FoundationNetworking.URLProtocol.property(forKey: key, in: request)
    }

    /// Stores `value` in `request` under `key`.
    open class func setProperty(_ value: Any, forKey key: String, in request: NSMutableURLRequest) {
        FoundationNetworking.URLProtocol.setProperty(value, forKey: key, in: request)
    }

    /// Removes what is stored in `request` under `key`.
    open class func removeProperty(forKey key: String, in request: NSMutableURLRequest) {
        FoundationNetworking.URLProtocol.removeProperty(forKey: key, in: request)
    }

    // MARK: - Registration

    private static let registered = Mutex<[URLProtocol.Type]>([])

    /// Puts `protocolClass` ahead of all others in ``URLSession/shared`` and in configurations made from now on. False where it
    /// is no subclass of this one.
    open class func registerClass(_ protocolClass: AnyClass) -> Bool {
        guard let protocolClass = protocolClass as? URLProtocol.Type else { return false }
        registered.withLock { $0.insert(protocolClass, at: 0) }
        return true
    }

    /// Takes back the registration of `protocolClass`.
    open class func unregisterClass(_ protocolClass: AnyClass) {
        registered.withLock { $0.removeAll { $0 == protocolClass } }
    }

    static var registeredClasses: [URLProtocol.Type] { registered.withLock { $0 } }
}

/// What a ``URLProtocol`` reports to. All methods may be called from any thread.
///
/// Source: <https://developer.apple.com/documentation/foundation/urlprotocolclient>
public protocol URLProtocolClient: NSObjectProtocol, Sendable {
    /// The response is a redirect; `request` is to be loaded instead.
    func urlProtocol(_ protocol: URLProtocol, wasRedirectedTo request: URLRequest, redirectResponse: URLResponse)

    /// The cached response is good, and is all there is.
    func urlProtocol(_ protocol: URLProtocol, cachedResponseIsValid cachedResponse: CachedURLResponse)

    /// The response's head is there.
    func urlProtocol(
        _ protocol: URLProtocol,
        didReceive response: URLResponse,
        cacheStoragePolicy policy: URLCache.StoragePolicy
    )

    /// The next bytes of the body.
    func urlProtocol(_ protocol: URLProtocol, didLoad data: Data)

    /// The body is complete.
    func urlProtocolDidFinishLoading(_ protocol: URLProtocol)

    /// Loading has failed.
    func urlProtocol(_ protocol: URLProtocol, didFailWithError error: any Error)

    /// A challenge is to be answered; its sender is told to use the default handling.
    func urlProtocol(_ protocol: URLProtocol, didReceive challenge: URLAuthenticationChallenge)

    /// A challenge was withdrawn.
    func urlProtocol(_ protocol: URLProtocol, didCancel challenge: URLAuthenticationChallenge)
}
