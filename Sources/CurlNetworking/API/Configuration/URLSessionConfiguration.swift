import Foundation

/// The behaviour of a session: time-outs, header fields, storages and limits.
///
/// A session copies its configuration when it is created; later changes to the object don't affect the session. Safe to
/// use from any thread.
///
/// Source: <https://developer.apple.com/documentation/foundation/urlsessionconfiguration>
open class URLSessionConfiguration: NSObject, NSCopying, @unchecked Sendable {
    // @unchecked: `lock` guards `values`, and there is no other stored property.
    private let lock = NSLock()
    private var values: Values

    private struct Values {
        var requestCachePolicy = URLRequest.CachePolicy.useProtocolCachePolicy
        var timeoutIntervalForRequest: TimeInterval = 60
        var timeoutIntervalForResource: TimeInterval = 7 * 24 * 60 * 60
        var waitsForConnectivity = false
        var networkServiceType = URLRequest.NetworkServiceType.default
        var allowsCellularAccess = true
        var allowsExpensiveNetworkAccess = true
        var allowsConstrainedNetworkAccess = true
        var allowsUltraConstrainedNetworkAccess = false
        var multipathServiceType = MultipathServiceType.none
        var isDiscretionary = false
        var sessionSendsLaunchEvents = true
        var sharedContainerIdentifier: String?
        /// nil in all but background sessions.
        var identifier: String?
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
        /// nil unless the program has set one.
        var tlsMinimumSupportedProtocolVersion: tls_protocol_version_t?
        var tlsMaximumSupportedProtocolVersion = TLSPlan.defaultMaximum
        var requiresDNSSECValidation = false
        var enablesEarlyData = false
        var usesClassicLoadingMode = true
        var curl = CurlOptions()
        var dividesParts = true
        var proxyEnvironment: [String: String]?

        /// The defaults, with the process's shared storages.
        static var withSharedStorages: Values {
            var values = Values()
            values.httpCookieStorage = .shared
            values.urlCredentialStorage = .shared
            values.urlCache = CurlURLCache.ofSessions
            return values
        }
    }

    private init(values: Values) {
        self.values = values
    }

    /// Creates the same configuration as ``default``.
    @available(*, deprecated, renamed: "URLSessionConfiguration.default", message: "Use .default, which is the same.")
    public override init() {
        values = .withSharedStorages
    }

    /// A new configuration that uses the process's shared cache, cookies and credentials.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessionconfiguration/default>
    open class var `default`: URLSessionConfiguration {
        URLSessionConfiguration(values: .withSharedStorages)
    }

    /// A new configuration whose cache, cookies and credentials are kept in memory, for the lifetime of the session.
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

    /// Creates a configuration for transfers that continue while the program isn't running; see <doc:BackgroundSessions>.
    ///
    /// A session with this configuration needs a delegate, supports downloads and file uploads with http and https URLs, has no
    /// cache, and waits for connectivity. It uses the shared cookie and credential storages.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessionconfiguration/background(withidentifier:)>
    open class func background(withIdentifier identifier: String) -> URLSessionConfiguration {
        var values = Values()
        values.identifier = identifier
        values.httpCookieStorage = .shared
        values.urlCredentialStorage = .shared
        values.waitsForConnectivity = true
        return URLSessionConfiguration(values: values)
    }

    /// Returns a copy of the configuration.
    open override func copy() -> Any {
        copy(with: nil)
    }

    /// Returns a copy of the configuration; `zone` is ignored. Properties that a subclass overrides count as set.
    open func copy(with zone: NSZone?) -> Any {
        var values = current
        guard type(of: self) != URLSessionConfiguration.self else { return URLSessionConfiguration(values: values) }
        values.identifier = identifier
        let copy = URLSessionConfiguration(values: values)
        copy.takeProperties(of: self)
        return copy
    }

    /// Copies the settable properties, except deprecated ones.
    private func takeProperties(of other: URLSessionConfiguration) {
        requestCachePolicy = other.requestCachePolicy
        timeoutIntervalForRequest = other.timeoutIntervalForRequest
        timeoutIntervalForResource = other.timeoutIntervalForResource
        waitsForConnectivity = other.waitsForConnectivity
        networkServiceType = other.networkServiceType
        allowsCellularAccess = other.allowsCellularAccess
        allowsExpensiveNetworkAccess = other.allowsExpensiveNetworkAccess
        allowsConstrainedNetworkAccess = other.allowsConstrainedNetworkAccess
        allowsUltraConstrainedNetworkAccess = other.allowsUltraConstrainedNetworkAccess
        multipathServiceType = other.multipathServiceType
        isDiscretionary = other.isDiscretionary
        sessionSendsLaunchEvents = other.sessionSendsLaunchEvents
        sharedContainerIdentifier = other.sharedContainerIdentifier
        connectionProxyDictionary = other.connectionProxyDictionary
        httpShouldSetCookies = other.httpShouldSetCookies
        httpCookieAcceptPolicy = other.httpCookieAcceptPolicy
        httpAdditionalHeaders = other.httpAdditionalHeaders
        httpMaximumConnectionsPerHost = other.httpMaximumConnectionsPerHost
        httpCookieStorage = other.httpCookieStorage
        urlCredentialStorage = other.urlCredentialStorage
        urlCache = other.urlCache
        protocolClasses = other.protocolClasses
        // An unset minimum reads as another value.
        let minimum = other.tlsMinimumSupportedProtocolVersion
        if minimum != tlsMinimumSupportedProtocolVersion { tlsMinimumSupportedProtocolVersion = minimum }
        tlsMaximumSupportedProtocolVersion = other.tlsMaximumSupportedProtocolVersion
        requiresDNSSECValidation = other.requiresDNSSECValidation
        enablesEarlyData = other.enablesEarlyData
        usesClassicLoadingMode = other.usesClassicLoadingMode
        curl = other.curl
    }

    private var current: Values {
        lock.withLock { values }
    }

    /// The name of a background session; nil for others.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessionconfiguration/identifier>
    open var identifier: String? { current.identifier }

    /// The cache policy of requests that don't set one. See <doc:Caching>.
    open var requestCachePolicy: URLRequest.CachePolicy {
        get { current.requestCachePolicy }
        set { lock.withLock { values.requestCachePolicy = newValue } }
    }

    /// The time that a task may go without a byte in either direction, in seconds; fractions count. The default is 60.
    ///
    /// A request whose own `timeoutInterval` was changed from 60 uses that instead. The time-out also limits connecting. The clock stops
    /// while a task is suspended, and while it waits for a free connection, its begin date, connectivity, or its delegate or reader to
    /// answer or to consume received data. The task fails with `URLError.timedOut`. See <doc:Time>.
    open var timeoutIntervalForRequest: TimeInterval {
        get { current.timeoutIntervalForRequest }
        set { lock.withLock { values.timeoutIntervalForRequest = newValue } }
    }

    /// The total time that a task may take from its first `resume()`, in seconds. The default is seven days.
    ///
    /// The clock runs through redirects and all kinds of waiting until the whole response has arrived and been decoded; it stops while the
    /// task is suspended. For a task with a begin date, it starts at that date. The task fails with `URLError.timedOut`. See <doc:Time>.
    open var timeoutIntervalForResource: TimeInterval {
        get { current.timeoutIntervalForResource }
        set { lock.withLock { values.timeoutIntervalForResource = newValue } }
    }

    /// Whether a task waits until its host is reachable instead of failing at once; the default is false.
    ///
    /// A task waits if the host's name can't be resolved, or if the host can't be reached or refuses the connection. The delegate is told
    /// once, in `urlSession(_:taskIsWaitingForConnectivity:)`. The task retries when the system's routes, addresses or resolver change, and
    /// at intervals, until ``timeoutIntervalForResource`` has passed. A connection that is lost later still fails the task.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessionconfiguration/waitsforconnectivity>
    open var waitsForConnectivity: Bool {
        get { current.waitsForConnectivity }
        set { lock.withLock { values.waitsForConnectivity = newValue } }
    }

    /// The kind of traffic that the session carries. No effect.
    open var networkServiceType: URLRequest.NetworkServiceType {
        get { current.networkServiceType }
        set { lock.withLock { values.networkServiceType = newValue } }
    }

    /// Whether connections may be made over a cellular network. No effect: Linux doesn't identify such networks.
    open var allowsCellularAccess: Bool {
        get { current.allowsCellularAccess }
        set { lock.withLock { values.allowsCellularAccess = newValue } }
    }

    /// Whether connections may be made over a network that the system considers expensive. No effect: Linux doesn't identify such networks.
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

    /// Whether connections may be made over a satellite network or similar; the default is false. No effect: Linux doesn't identify such
    /// networks.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessionconfiguration/allowsultraconstrainednetworkaccess>
    open var allowsUltraConstrainedNetworkAccess: Bool {
        get { current.allowsUltraConstrainedNetworkAccess }
        set { lock.withLock { values.allowsUltraConstrainedNetworkAccess = newValue } }
    }

    /// The use of several networks. No effect: libcurl can't open Multipath TCP connections.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessionconfiguration/multipathservicetype-swift.property>
    open var multipathServiceType: MultipathServiceType {
        get { current.multipathServiceType }
        set { lock.withLock { values.multipathServiceType = newValue } }
    }

    /// Whether the system may choose when to run background transfers. No effect: Linux has no such service.
    open var isDiscretionary: Bool {
        get { current.isDiscretionary }
        set { lock.withLock { values.isDiscretionary = newValue } }
    }

    /// Whether a command is run when all transfers of a background session have ended and no program is attached to it; the default is
    /// true. The command is ``CurlOptions/Background/launchCommand``; without one, nothing happens.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessionconfiguration/sessionsendslaunchevents>
    open var sessionSendsLaunchEvents: Bool {
        get { current.sessionSendsLaunchEvents }
        set { lock.withLock { values.sessionSendsLaunchEvents = newValue } }
    }

    /// The proxies to use; nil, the default, for the environment's, and an empty dictionary for none.
    ///
    /// The keys are CFNetwork's, as strings (`"HTTPEnable"`) or constants (``kCFNetworkProxiesHTTPEnable``). If a proxy's entries are
    /// invalid, the tasks that would use it fail. ``CurlOptions/proxy`` has more options, and takes precedence. See <doc:Proxies>.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessionconfiguration/connectionproxydictionary>
    open var connectionProxyDictionary: [AnyHashable: Any]? {
        get { current.connectionProxyDictionary }
        set { lock.withLock { values.connectionProxyDictionary = newValue } }
    }

    /// Whether requests may be pipelined over HTTP/1.1. libcurl no longer supports this; HTTP/2 multiplexes instead.
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

    /// The policy for storing cookies from responses; the default is `.onlyFromMainDocumentDomain`, which affects only requests with a
    /// `mainDocumentURL`. If the storage's own `cookieAcceptPolicy` is stricter, it takes precedence. See <doc:Cookies>.
    open var httpCookieAcceptPolicy: HTTPCookie.AcceptPolicy {
        get { current.httpCookieAcceptPolicy }
        set { lock.withLock { values.httpCookieAcceptPolicy = newValue } }
    }

    /// Header fields for all of the session's requests that don't set them.
    ///
    /// A value that isn't a string is sent as its description; `nil` and `NSNull` are omitted. Of names that differ only in case, the first
    /// in alphabetical order, capitals first, is sent.
    open var httpAdditionalHeaders: [AnyHashable: Any]? {
        get { current.httpAdditionalHeaders }
        set { lock.withLock { values.httpAdditionalHeaders = newValue } }
    }

    /// The maximum number of simultaneous connections to one host (scheme, name and port); the default is 6.
    ///
    /// Further requests wait: those of higher ``URLSessionTask/priority`` run first, then in the order in which they were resumed. Requests
    /// to a host that is known to speak HTTP/2 share its connections.
    open var httpMaximumConnectionsPerHost: Int {
        get { current.httpMaximumConnectionsPerHost }
        set { lock.withLock { values.httpMaximumConnectionsPerHost = newValue } }
    }

    /// The storage for cookies; nil for no cookies.
    open var httpCookieStorage: HTTPCookieStorage? {
        get { current.httpCookieStorage }
        set { lock.withLock { values.httpCookieStorage = newValue } }
    }

    /// The storage for credentials; nil for none.
    open var urlCredentialStorage: URLCredentialStorage? {
        get { current.urlCredentialStorage }
        set { lock.withLock { values.urlCredentialStorage = newValue } }
    }

    /// The cache for responses of data tasks; nil for no cache. See <doc:Caching>.
    open var urlCache: URLCache? {
        get { current.urlCache }
        set { lock.withLock { values.urlCache = newValue } }
    }

    /// Whether connections are kept when an app moves to the background. No effect.
    @available(swift, deprecated: 6.1, message: "Not supported")
    open var shouldUseExtendedBackgroundIdleMode: Bool {
        get { current.shouldUseExtendedBackgroundIdleMode }
        set { lock.withLock { values.shouldUseExtendedBackgroundIdleMode = newValue } }
    }

    /// The ``URLProtocol`` classes that are asked in order, before the network; none by default.
    ///
    /// Subclasses of the stock module's `URLProtocol`, such as those of a mocking library, also work. The stock module's built-in classes
    /// are skipped, since they represent the network. A request that reaches any other class fails with `URLError.unsupportedURL`. See
    /// <doc:Protocols>.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessionconfiguration/protocolclasses>
    open var protocolClasses: [AnyClass]? {
        get { current.protocolClasses }
        set { lock.withLock { values.protocolClasses = newValue } }
    }

    /// The minimum TLS version; the default is TLS 1.2, or ``tlsMaximumSupportedProtocolVersion`` if that is older. Versions before TLS 1.2
    /// work only if the system's OpenSSL still allows them.
    ///
    /// If it is newer than the maximum, or if either is a DTLS version, tasks that need TLS fail with `URLError.secureConnectionFailed`.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessionconfiguration/tlsminimumsupportedprotocolversion>
    open var tlsMinimumSupportedProtocolVersion: tls_protocol_version_t {
        get {
            let values = current
            return values.tlsMinimumSupportedProtocolVersion
                ?? TLSPlan.minimum(upTo: values.tlsMaximumSupportedProtocolVersion)
        }
        set { chosenMinimumTLSVersion = newValue }
    }

    /// The minimum TLS version set by the program; nil for the default.
    var chosenMinimumTLSVersion: tls_protocol_version_t? {
        get { current.tlsMinimumSupportedProtocolVersion }
        set { lock.withLock { values.tlsMinimumSupportedProtocolVersion = newValue } }
    }

    /// The maximum TLS version; the default is TLS 1.3. See ``tlsMinimumSupportedProtocolVersion``.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessionconfiguration/tlsmaximumsupportedprotocolversion>
    open var tlsMaximumSupportedProtocolVersion: tls_protocol_version_t {
        get { current.tlsMaximumSupportedProtocolVersion }
        set { lock.withLock { values.tlsMaximumSupportedProtocolVersion = newValue } }
    }

    /// Whether DNS answers must be validated with DNSSEC. **No effect**: neither libcurl nor the system's resolver says whether an answer
    /// was validated. Since a program may rely on that protection, creating a session with this set writes a warning to standard error. To
    /// use a validating resolver, set ``CurlOptions/names``.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessionconfiguration/requiresdnssecvalidation>
    open var requiresDNSSECValidation: Bool {
        get { current.requiresDNSSECValidation }
        set { lock.withLock { values.requiresDNSSECValidation = newValue } }
    }

    /// Whether requests may be sent as TLS 1.3 early data, which an attacker can replay. No effect: requests are sent only after the
    /// handshake has completed.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessionconfiguration/enablesearlydata>
    open var enablesEarlyData: Bool {
        get { current.enablesEarlyData }
        set { lock.withLock { values.enablesEarlyData = newValue } }
    }

    /// Whether to use Apple's classic loading implementation. No effect: this module has only one.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessionconfiguration/usesclassicloadingmode>
    open var usesClassicLoadingMode: Bool {
        get { current.usesClassicLoadingMode }
        set { lock.withLock { values.usesClassicLoadingMode = newValue } }
    }

    /// Warnings about settings that a session can't honour.
    var warnings: [String] {
        guard current.requiresDNSSECValidation else { return [] }
        return [
            "URLSessionConfiguration.requiresDNSSECValidation has no effect: answers to name look-ups are not validated."
        ]
    }

    /// Options for the transport; see ``CurlOptions``. An addition of this module.
    open var curl: CurlOptions {
        get { current.curl }
        set { lock.withLock { values.curl = newValue } }
    }

    /// Whether a delegate receives a response for each part of a `multipart/x-mixed-replace` body. False for sessions below a stock one, and
    /// for an agent's, whose delegates receive such a body undivided.
    package var dividesParts: Bool {
        get { current.dividesParts }
        set { lock.withLock { values.dividesParts = newValue } }
    }

    /// The environment in which to look for proxies; nil for the process's own. An agent's sessions use their program's.
    var proxyEnvironment: [String: String]? {
        get { current.proxyEnvironment }
        set { lock.withLock { values.proxyEnvironment = newValue } }
    }

    /// The name of the folder for the state of background transfers; nil for the program's own name. Programs that set the same
    /// name can take over each other's sessions. No effect if ``CurlOptions/Background/folder`` is set.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessionconfiguration/sharedcontaineridentifier>
    open var sharedContainerIdentifier: String? {
        get { current.sharedContainerIdentifier }
        set { lock.withLock { values.sharedContainerIdentifier = newValue } }
    }
}
