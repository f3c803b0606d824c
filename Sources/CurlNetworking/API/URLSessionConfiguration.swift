import Foundation

/// How a session behaves: time-outs, headers, storages and limits.
///
/// A session copies its configuration when it is created; later changes to the object have no effect on it. Safe to use
/// from any thread.
///
/// Source: <https://developer.apple.com/documentation/foundation/urlsessionconfiguration>
open class URLSessionConfiguration: NSObject, NSCopying, @unchecked Sendable {
    // @unchecked is true because `lock` guards `values`, and there is no other stored property.
    private let lock = NSLock()
    private var values: Values

    /// Everything a configuration holds, as a value.
    private struct Values {
        var requestCachePolicy = URLRequest.CachePolicy.useProtocolCachePolicy
        var timeoutIntervalForRequest: TimeInterval = 60
        var timeoutIntervalForResource: TimeInterval = 7 * 24 * 60 * 60
        var waitsForConnectivity = false
        var networkServiceType = URLRequest.NetworkServiceType.default
        var allowsCellularAccess = true
        var allowsExpensiveNetworkAccess = true
        var allowsConstrainedNetworkAccess = true
        var allowsUltraConstrainedNetworkAccess = true
        var multipathServiceType = MultipathServiceType.none
        var isDiscretionary = false
        var connectionProxyDictionary: [AnyHashable: Any]?
        var httpShouldUsePipelining = false
        var httpShouldSetCookies = true
        var httpCookieAcceptPolicy = HTTPCookie.AcceptPolicy.onlyFromMainDocumentDomain
        var httpAdditionalHeaders: [AnyHashable: Any]?
        var httpMaximumConnectionsPerHost = 6
        var httpCookieStorage: HTTPCookieStorage?
        var urlCredentialStorage: URLCredentialStorage?
        var urlCache: URLCache?
        var shouldUseExtendedBackgroundIdleMode = false
        var protocolClasses: [AnyClass]? = []
        var tlsMinimumSupportedProtocolVersion = TLSPlan.defaultMinimum
        var tlsMaximumSupportedProtocolVersion = TLSPlan.defaultMaximum
        var requiresDNSSECValidation = false
        var enablesEarlyData = false
        var usesClassicLoadingMode = true
        var curl = CurlOptions()
    }

    private init(values: Values) {
        self.values = values
    }

    /// A configuration without storages; use ``default`` or ``ephemeral`` instead.
    @available(*, deprecated, renamed: "URLSessionConfiguration.default", message: "Use .default instead.")
    public override init() {
        values = Values()
    }

    /// A new configuration that uses the process's shared cache, cookies and credentials.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessionconfiguration/default>
    open class var `default`: URLSessionConfiguration {
        var values = Values()
        values.httpCookieStorage = .shared
        values.urlCredentialStorage = .shared
        values.urlCache = CurlURLCache.ofSessions
        return URLSessionConfiguration(values: values)
    }

    /// A new configuration whose cache, cookies and credentials live in memory, and only as long as the session.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessionconfiguration/ephemeral>
    open class var ephemeral: URLSessionConfiguration {
        let stock = FoundationNetworking.URLSessionConfiguration.ephemeral
        var values = Values()
        values.httpCookieStorage = stock.httpCookieStorage
        values.urlCredentialStorage = stock.urlCredentialStorage
        values.urlCache = CurlURLCache(memoryCapacity: stock.urlCache?.memoryCapacity ?? 4 << 20)
        return URLSessionConfiguration(values: values)
    }

    /// A copy of the configuration.
    open override func copy() -> Any {
        copy(with: nil)
    }

    /// A copy of the configuration; `zone` has no meaning.
    open func copy(with zone: NSZone?) -> Any {
        URLSessionConfiguration(values: current)
    }

    private var current: Values {
        lock.withLock { values }
    }

    /// The name of a background session; nil for all others, and so always nil here.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessionconfiguration/identifier>
    open var identifier: String? { nil }

    /// The cache policy of requests that have none of their own. See <doc:Caching>.
    open var requestCachePolicy: URLRequest.CachePolicy {
        get { current.requestCachePolicy }
        set { lock.withLock { values.requestCachePolicy = newValue } }
    }

    /// How long a task may go without a byte in either direction, in seconds; fractions count. The default is 60.
    ///
    /// A request whose own `timeoutInterval` was changed from 60 uses that one. It is also how long connecting may take. The
    /// clock stands still while a task is suspended, waits for a connection to become free, for its begin date or for the
    /// network, or for its delegate or reader to answer or to take what has arrived. The task fails with `URLError.timedOut`.
    /// See <doc:Time>.
    open var timeoutIntervalForRequest: TimeInterval {
        get { current.timeoutIntervalForRequest }
        set { lock.withLock { values.timeoutIntervalForRequest = newValue } }
    }

    /// How long a task may take in all from its first `resume()`, in seconds. The default is seven days.
    ///
    /// It runs on whatever the task does, redirects and all kinds of waiting included, but stands still while the task is suspended; for a
    /// task with a begin date it runs from that date. The task fails with `URLError.timedOut`. See <doc:Time>.
    open var timeoutIntervalForResource: TimeInterval {
        get { current.timeoutIntervalForResource }
        set { lock.withLock { values.timeoutIntervalForResource = newValue } }
    }

    /// Whether a task waits for a way to its host, where there is none, instead of failing at once; the default is false.
    ///
    /// A host whose name can't be looked up, that can't be reached, or that refuses the connection counts as having none. The
    /// delegate hears of it, once, in `urlSession(_:taskIsWaitingForConnectivity:)`. The task tries again when the system's
    /// routes, addresses or resolver change, and now and then; ``timeoutIntervalForResource`` ends it. A connection that
    /// breaks off later fails the task as ever.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessionconfiguration/waitsforconnectivity>
    open var waitsForConnectivity: Bool {
        get { current.waitsForConnectivity }
        set { lock.withLock { values.waitsForConnectivity = newValue } }
    }

    /// What kind of traffic the session carries; Linux makes no difference by it.
    open var networkServiceType: URLRequest.NetworkServiceType {
        get { current.networkServiceType }
        set { lock.withLock { values.networkServiceType = newValue } }
    }

    /// Whether connections may be made over a cellular network; Linux makes no difference by it.
    open var allowsCellularAccess: Bool {
        get { current.allowsCellularAccess }
        set { lock.withLock { values.allowsCellularAccess = newValue } }
    }

    /// Whether connections may be made over a network that the system considers expensive. No effect: Linux doesn't say which
    /// network is.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessionconfiguration/allowsexpensivenetworkaccess>
    open var allowsExpensiveNetworkAccess: Bool {
        get { current.allowsExpensiveNetworkAccess }
        set { lock.withLock { values.allowsExpensiveNetworkAccess = newValue } }
    }

    /// Whether connections may be made over a network in Low Data Mode. No effect: Linux has no such mode.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessionconfiguration/allowsconstrainednetworkaccess>
    open var allowsConstrainedNetworkAccess: Bool {
        get { current.allowsConstrainedNetworkAccess }
        set { lock.withLock { values.allowsConstrainedNetworkAccess = newValue } }
    }

    /// Whether connections may be made over a satellite network and the like. No effect: Linux doesn't say which network is one.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessionconfiguration/allowsultraconstrainednetworkaccess>
    open var allowsUltraConstrainedNetworkAccess: Bool {
        get { current.allowsUltraConstrainedNetworkAccess }
        set { lock.withLock { values.allowsUltraConstrainedNetworkAccess = newValue } }
    }

    /// How connections share several networks. No effect: libcurl can't open Multipath TCP connections.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessionconfiguration/multipathservicetype-swift.property>
    open var multipathServiceType: MultipathServiceType {
        get { current.multipathServiceType }
        set { lock.withLock { values.multipathServiceType = newValue } }
    }

    /// Whether the system may choose when to run background transfers; it has no effect on other sessions.
    open var isDiscretionary: Bool {
        get { current.isDiscretionary }
        set { lock.withLock { values.isDiscretionary = newValue } }
    }

    /// The proxies to use; nil, the default, for the environment's, and an empty dictionary for none.
    ///
    /// The keys are those of CFNetwork, as strings (`"HTTPEnable"`) or constants (``kCFNetworkProxiesHTTPEnable``). The session
    /// fails every task that would have to go through a proxy whose entries make no sense. ``CurlOptions/proxy`` says more, and
    /// goes before. See <doc:Proxies>.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessionconfiguration/connectionproxydictionary>
    open var connectionProxyDictionary: [AnyHashable: Any]? {
        get { current.connectionProxyDictionary }
        set { lock.withLock { values.connectionProxyDictionary = newValue } }
    }

    /// Whether requests may be pipelined over HTTP/1.1. libcurl no longer can; HTTP/2 multiplexes instead.
    @available(
        swift,
        deprecated: 6.1,
        message: "HTTP/1 pipelining has known compatibility issues, please adopt HTTP/2 and HTTP/3 instead"
    )
    open var httpShouldUsePipelining: Bool {
        get { current.httpShouldUsePipelining }
        set { lock.withLock { values.httpShouldUsePipelining = newValue } }
    }

    /// Whether requests carry cookies from ``httpCookieStorage``; the default is true. See <doc:Cookies>.
    open var httpShouldSetCookies: Bool {
        get { current.httpShouldSetCookies }
        set { lock.withLock { values.httpShouldSetCookies = newValue } }
    }

    /// Which cookies of responses are stored; the default is `.onlyFromMainDocumentDomain`, which concerns requests with a
    /// `mainDocumentURL` alone.
    open var httpCookieAcceptPolicy: HTTPCookie.AcceptPolicy {
        get { current.httpCookieAcceptPolicy }
        set { lock.withLock { values.httpCookieAcceptPolicy = newValue } }
    }

    /// Headers sent with every request of the session that doesn't set them itself.
    open var httpAdditionalHeaders: [AnyHashable: Any]? {
        get { current.httpAdditionalHeaders }
        set { lock.withLock { values.httpAdditionalHeaders = newValue } }
    }

    /// How many connections the session opens to one host (scheme, name and port) at once; the default is 6.
    ///
    /// Further requests wait, those of higher ``URLSessionTask/priority`` first and then in order of their resuming.
    /// A host known to speak HTTP/2 shares its connections among any number of requests.
    open var httpMaximumConnectionsPerHost: Int {
        get { current.httpMaximumConnectionsPerHost }
        set { lock.withLock { values.httpMaximumConnectionsPerHost = newValue } }
    }

    /// Where cookies are kept; nil for nowhere.
    open var httpCookieStorage: HTTPCookieStorage? {
        get { current.httpCookieStorage }
        set { lock.withLock { values.httpCookieStorage = newValue } }
    }

    /// Where credentials are kept; nil for nowhere.
    open var urlCredentialStorage: URLCredentialStorage? {
        get { current.urlCredentialStorage }
        set { lock.withLock { values.urlCredentialStorage = newValue } }
    }

    /// Where the responses of data tasks are cached; nil for nowhere. See <doc:Caching>.
    open var urlCache: URLCache? {
        get { current.urlCache }
        set { lock.withLock { values.urlCache = newValue } }
    }

    /// Whether connections are kept when an app moves to the background; no server does.
    @available(swift, deprecated: 6.1, message: "Not supported")
    open var shouldUseExtendedBackgroundIdleMode: Bool {
        get { current.shouldUseExtendedBackgroundIdleMode }
        set { lock.withLock { values.shouldUseExtendedBackgroundIdleMode = newValue } }
    }

    /// The program's own ``URLProtocol`` classes, asked before the network, in their order; none by default.
    ///
    /// Subclasses of the stock module's `URLProtocol` work here as well, such as those of a mocking library. The stock module's
    /// built-in classes are passed over, since they stand for the network. A class that is neither fails each request that comes
    /// to it with `URLError.unsupportedURL`. See <doc:Protocols>.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessionconfiguration/protocolclasses>
    open var protocolClasses: [AnyClass]? {
        get { current.protocolClasses }
        set { lock.withLock { values.protocolClasses = newValue } }
    }

    /// The oldest version of TLS to speak; the default is TLS 1.2. Older ones need a system whose OpenSSL still allows them.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessionconfiguration/tlsminimumsupportedprotocolversion>
    open var tlsMinimumSupportedProtocolVersion: tls_protocol_version_t {
        get { current.tlsMinimumSupportedProtocolVersion }
        set { lock.withLock { values.tlsMinimumSupportedProtocolVersion = newValue } }
    }

    /// The newest version of TLS to speak; the default is TLS 1.3.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessionconfiguration/tlsmaximumsupportedprotocolversion>
    open var tlsMaximumSupportedProtocolVersion: tls_protocol_version_t {
        get { current.tlsMaximumSupportedProtocolVersion }
        set { lock.withLock { values.tlsMaximumSupportedProtocolVersion = newValue } }
    }

    /// Whether answers to name look-ups must be validated with DNSSEC. **No effect**: neither libcurl nor the system's resolver says
    /// whether an answer was validated. Since that is a protection which a program may count on, creating a session with it writes
    /// a warning to standard error. A resolver of your own that validates is named with ``CurlOptions/names``.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessionconfiguration/requiresdnssecvalidation>
    open var requiresDNSSECValidation: Bool {
        get { current.requiresDNSSECValidation }
        set { lock.withLock { values.requiresDNSSECValidation = newValue } }
    }

    /// Whether requests may go out with the first bytes of a TLS 1.3 handshake, where an attacker can replay them. No effect:
    /// handshakes are always complete before a request is sent.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessionconfiguration/enablesearlydata>
    open var enablesEarlyData: Bool {
        get { current.enablesEarlyData }
        set { lock.withLock { values.enablesEarlyData = newValue } }
    }

    /// Which of Apple's two implementations loads. No effect: here there is only one.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessionconfiguration/usesclassicloadingmode>
    open var usesClassicLoadingMode: Bool {
        get { current.usesClassicLoadingMode }
        set { lock.withLock { values.usesClassicLoadingMode = newValue } }
    }

    /// What a session should tell its program of settings that it can't follow.
    var warnings: [String] {
        guard current.requiresDNSSECValidation else { return [] }
        return [
            "URLSessionConfiguration.requiresDNSSECValidation has no effect: answers to name look-ups are not validated."
        ]
    }

    func validateTLSVersions() throws(CurlOptionsError) {
        let values = current
        try CurlOptions.TLSOptions.validate(
            values.tlsMinimumSupportedProtocolVersion,
            values.tlsMaximumSupportedProtocolVersion,
            as: "tls"
        )
    }

    /// What can be set below `URLSession`; see ``CurlOptions``. An addition of this module.
    open var curl: CurlOptions {
        get { current.curl }
        set { lock.withLock { values.curl = newValue } }
    }

    /// The container that background transfers put their files into; always nil on Linux.
    open var sharedContainerIdentifier: String? { nil }
}
