import CurlTransport
import Foundation

/// A session's settings, copied from its configuration. Never changes. A class, because it is passed on several times for every request.
final class SessionSettings: Sendable {
    let additionalHeaders: [HeaderField]
    /// The additional fields that concern the cache; usually none.
    let additionalCacheHeaders: [HeaderField]
    let cachePolicy: URLRequest.CachePolicy
    let idleTimeout: Duration
    let resourceTimeout: Duration
    let waitsForConnectivity: Bool
    let maximumConnectionsPerHost: Int
    let hosts: HostRules
    let names: NameRules
    let configureTransfer: TransferConfiguration?
    /// nil if there is no trace.
    let traceQueue: TraceQueue?
    /// At most the number of connections allowed.
    let eventLoops: Int
    let runsTasksOnEventLoop: Bool
    let limits: SessionLimits
    let connectionOptions: CurlOptions.ConnectionOptions
    let httpVersion: CurlOptions.HTTPVersion
    let tls: TLSPlan
    /// nil if Strict-Transport-Security is ignored.
    let transportSecurity: TransportSecurityStore?
    let proxies: ProxyRules
    let temporaryDirectory: URL
    /// Whether a delegate receives the parts of a body one by one.
    let dividesParts: Bool
    let protocolClasses: [ProtocolClass]
    /// nil for no cookies.
    private let cookieStore: CookieStore?
    /// The store whose cookies are sent; nil to send none.
    let sentCookies: CookieStore?
    /// The store for cookies of responses; nil to store none.
    let storedCookies: CookieStore?
    let cookieAcceptPolicy: HTTPCookie.AcceptPolicy
    let webSockets: CurlOptions.WebSocketOptions
    /// The version of resumable uploads that uploads offer; nil for none.
    let uploadVersion: UploadVersion?
    private let keptCache: ReleasedOffLoop<any CacheStore>?
    private let keptCredentialStorage: ReleasedOffLoop<URLCredentialStorage>?
    /// True for the shared session, which also uses classes registered later.
    let consultsRegisteredProtocols: Bool

    /// nil for no cache.
    var cache: (any CacheStore)? { keptCache?.value }

    var credentialStorage: URLCredentialStorage? { keptCredentialStorage?.value }

    /// Whether the program configures or traces transfers.
    var hasHooks: Bool { configureTransfer != nil || traceQueue != nil }

    /// Whether requests carry stored cookies, or cookies of responses are stored.
    var hasCookies: Bool { sentCookies != nil || storedCookies != nil }

    var hasProtocols: Bool { consultsRegisteredProtocols || !protocolClasses.isEmpty }

    init(_ configuration: URLSessionConfiguration, consultsRegisteredProtocols: Bool = false) {
        self.consultsRegisteredProtocols = consultsRegisteredProtocols
        additionalHeaders = HeaderRules.additional(configuration.httpAdditionalHeaders ?? [:])
        additionalCacheHeaders = additionalHeaders.filter { CacheDemand.concerns(field: $0.name) }
        cachePolicy = configuration.requestCachePolicy
        idleTimeout = Duration(timeInterval: configuration.timeoutIntervalForRequest)
        resourceTimeout = Duration(timeInterval: configuration.timeoutIntervalForResource)
        waitsForConnectivity = configuration.waitsForConnectivity
        maximumConnectionsPerHost = max(1, configuration.httpMaximumConnectionsPerHost)
        let curl = configuration.curl
        hosts = HostRules(curl.hosts)
        names = NameRules(session: curl.names, hosts: hosts)
        configureTransfer = curl.configureTransfer.map(TransferConfiguration.init)
        traceQueue = curl.trace.map(TraceQueue.init)
        connectionOptions = curl.connections
        httpVersion = curl.httpVersion
        eventLoops = min(curl.eventLoops, curl.maximumConnections ?? .max, curl.maximumKeptConnections ?? .max)
        runsTasksOnEventLoop = curl.runsTasksOnEventLoop
        limits = SessionLimits(configuration, hosts)
        tls = TLSPlan(configuration, hosts)
        transportSecurity = TransportSecurityStore.store(for: curl.strictTransportSecurity)
        proxies = ProxyRules(curl.proxy, system: .system(for: configuration))
        protocolClasses = (configuration.protocolClasses ?? []).compactMap(ProtocolClass.init)
        keptCredentialStorage = configuration.urlCredentialStorage.map(ReleasedOffLoop.init)
        temporaryDirectory = curl.temporaryDirectory
        dividesParts = configuration.dividesParts
        let cookies = configuration.httpCookieStorage.map(CookieStore.store(over:))
        cookieStore = cookies
        sentCookies = configuration.httpShouldSetCookies ? cookies : nil
        cookieAcceptPolicy = configuration.httpCookieAcceptPolicy
        storedCookies = cookieAcceptPolicy == .never ? nil : cookies
        keptCache = configuration.urlCache.map { ReleasedOffLoop(CacheStores.store(over: $0)) }
        webSockets = curl.webSockets
        uploadVersion = curl.uploadInteropVersion.flatMap(UploadVersion.init)
    }

    /// The fields that the configuration adds to requests. Credentials are only for the origin that the task was created for.
    func additionalHeaders(withCredentials: Bool) -> [HeaderField] {
        guard !withCredentials else { return additionalHeaders }
        return additionalHeaders.filter { field in
            !RedirectPolicy.credentialFields.contains { $0.isEqualIgnoringASCIICase(to: field.name) }
        }
    }

    /// The time that a task for `request` may go without a byte. A request's own time-out applies unless it is the default, which can't be
    /// distinguished from an unset one.
    func idleTimeout(for request: URLRequest) -> Duration {
        let own = request.timeoutInterval
        return own == Self.defaultTimeoutInterval ? idleTimeout : Duration(timeInterval: own)
    }

    /// A request's own policy applies unless it is the default; see `idleTimeout(for:)`.
    func cachePolicy(for request: URLRequest) -> URLRequest.CachePolicy {
        let own = request.cachePolicy
        return own == .useProtocolCachePolicy ? cachePolicy : own
    }

    /// Calls `completion` on a private queue once the session's storages have written everything so far.
    func afterStorageWrites(_ completion: @escaping @Sendable () -> Void) {
        let group = DispatchGroup()
        if let cookieStore {
            group.enter()
            cookieStore.finishWrites { group.leave() }
        }
        if let transportSecurity {
            group.enter()
            transportSecurity.finishWrites { group.leave() }
        }
        if let cache {
            group.enter()
            WorkThreads.blocking.run {
                cache.waitForWrites()
                group.leave()
            }
        }
        group.notify(queue: Self.written, execute: completion)
    }

    private static let written = DispatchQueue(label: "CurlNetworking.written", qos: .utility)

    /// URLRequest's default, in seconds.
    private static let defaultTimeoutInterval: TimeInterval = 60
}

extension Duration {
    /// `timeInterval` seconds. Zero, negative numbers, NaN and more than a century count as a century: "never".
    init(timeInterval: TimeInterval) {
        let century = 100.0 * 366 * 24 * 60 * 60
        self = .seconds(timeInterval > 0 && timeInterval < century ? timeInterval : century)
    }
}
