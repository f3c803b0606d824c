import Curl
import Foundation

/// What a session took over from its configuration when it was created. Never changes. A class: every request passes it on
/// several times.
final class SessionSettings: Sendable {
    let additionalHeaders: [HeaderField]
    let cachePolicy: URLRequest.CachePolicy
    let idleTimeout: Duration
    let resourceTimeout: Duration
    let waitsForConnectivity: Bool
    let maximumConnectionsPerHost: Int
    let hosts: HostRules
    let names: NameRules
    let configureTransfer: (@Sendable (inout CurlTransfer, URLRequest) throws -> Void)?
    /// nil where nobody wants to hear libcurl's trace.
    let traceDesk: TraceDesk?
    /// No more than there may be connections.
    let eventLoops: Int
    private let connectionLimits: ConnectionLimits
    private let limitsKeptConnections: Bool
    let connectionOptions: CurlOptions.ConnectionOptions
    let httpVersion: CurlOptions.HTTPVersion
    let tls: TLSPlan
    /// nil where Strict-Transport-Security is not heeded.
    let transportSecurity: TransportSecurityStore?
    let proxies: ProxyRules
    let temporaryDirectory: URL
    let protocolClasses: [ProtocolClass]
    /// Where cookies are kept; nil for nowhere.
    private let cookieStore: CookieStore?
    /// Whose cookies requests carry; nil for none.
    let sentCookies: CookieStore?
    /// Where responses' cookies go; nil for nowhere.
    let storedCookies: CookieStore?
    let cookieAcceptPolicy: HTTPCookie.AcceptPolicy
    /// Where responses are cached; nil for nowhere.
    let cache: (any CacheStore)?
    let credentialStorage: URLCredentialStorage?
    /// The shared session heeds what is registered while it lives.
    let consultsRegisteredProtocols: Bool

    /// Whether a program has a hand on transfers, or listens to them.
    var hasHatches: Bool { configureTransfer != nil || traceDesk != nil }

    /// Whether a request may be somebody else's than the network's.
    var hasProtocols: Bool { consultsRegisteredProtocols || !protocolClasses.isEmpty }

    init(_ configuration: URLSessionConfiguration, consultsRegisteredProtocols: Bool = false) {
        self.consultsRegisteredProtocols = consultsRegisteredProtocols
        additionalHeaders = (configuration.httpAdditionalHeaders ?? [:]).map { name, value in
            HeaderField(name: "\(name)", value: "\(value)")
        }
        cachePolicy = configuration.requestCachePolicy
        idleTimeout = Duration(timeInterval: configuration.timeoutIntervalForRequest)
        resourceTimeout = Duration(timeInterval: configuration.timeoutIntervalForResource)
        waitsForConnectivity = configuration.waitsForConnectivity
        maximumConnectionsPerHost = max(1, configuration.httpMaximumConnectionsPerHost)
        let curl = configuration.curl
        hosts = HostRules(curl.hosts)
        names = NameRules(session: curl.names, hosts: hosts)
        configureTransfer = curl.configureTransfer
        traceDesk = curl.trace.map(TraceDesk.init)
        connectionOptions = curl.connections
        httpVersion = curl.httpVersion
        let mostPerHost = curl.hosts.patterns.compactMap { curl.hosts[$0].maximumConnections }.max() ?? 0
        eventLoops = min(curl.eventLoops, curl.maximumConnections ?? .max, curl.maximumKeptConnections ?? .max)
        limitsKeptConnections = curl.maximumKeptConnections != nil
        let idleLifetime = curl.connections.idleLifetime ?? ConnectionLimits.defaultIdleLifetime
        connectionLimits = ConnectionLimits(
            kept: curl.maximumKeptConnections ?? max(256, maximumConnectionsPerHost, mostPerHost),
            total: curl.maximumConnections,
            streams: curl.maximumStreamsPerConnection,
            // Of all hosts' together: libcurl itself uses none again that is too old for its host.
            idleLifetime: max(idleLifetime, hosts.greatest(\.connections.idleLifetime) ?? idleLifetime)
        )
        tls = TLSPlan(configuration)
        transportSecurity = TransportSecurityStore.store(for: curl.strictTransportSecurity)
        let dictionary = configuration.connectionProxyDictionary.map(ProxyTable.init(dictionary:))
        proxies = ProxyRules(curl.proxy, system: dictionary ?? .ofEnvironment)
        protocolClasses = (configuration.protocolClasses ?? []).compactMap(ProtocolClass.init)
        credentialStorage = configuration.urlCredentialStorage
        temporaryDirectory = configuration.curl.temporaryDirectory
        let cookies = configuration.httpCookieStorage.map(CookieStore.store(over:))
        cookieStore = cookies
        sentCookies = configuration.httpShouldSetCookies ? cookies : nil
        cookieAcceptPolicy = configuration.httpCookieAcceptPolicy
        storedCookies = cookieAcceptPolicy == .never ? nil : cookies
        cache = configuration.urlCache.map(CacheStores.store(over:))
    }

    /// The fields that the configuration adds to requests. Its credentials are for the origin that the task was created for.
    func additionalHeaders(withCredentials: Bool) -> [HeaderField] {
        guard !withCredentials else { return additionalHeaders }
        return additionalHeaders.filter { field in
            !RedirectPolicy.credentialFields.contains { $0.isEqualIgnoringASCIICase(to: field.name) }
        }
    }

    /// How many requests one connection carries where it multiplexes; nil for libcurl's default.
    var streamsPerConnection: Int? { connectionLimits.streams }

    /// The limits on one of `count` event loops, from 0: each has its share of what is limited in all.
    func connectionLimits(onLoop index: Int, of count: Int) -> ConnectionLimits {
        func share(_ whole: Int) -> Int { whole / count + (index < whole % count ? 1 : 0) }
        var limits = connectionLimits
        limits.total = limits.total.map(share)
        if limitsKeptConnections { limits.kept = share(limits.kept) }
        return limits
    }

    /// How long a task for `request` may go without a byte. A request's own time-out counts when it was changed: there is
    /// no telling a request that was left at the default from one that was set to it.
    func idleTimeout(for request: URLRequest) -> Duration {
        request.timeoutInterval == Self.defaultTimeoutInterval
            ? idleTimeout : Duration(timeInterval: request.timeoutInterval)
    }

    /// A request's own policy counts when it was changed; see `idleTimeout(for:)`.
    func cachePolicy(for request: URLRequest) -> URLRequest.CachePolicy {
        request.cachePolicy == .useProtocolCachePolicy ? cachePolicy : request.cachePolicy
    }

    /// Calls `completion` once everything has been written that the session's storages were to write so far, on a queue of its own.
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
        if let cache { DispatchQueue.global(qos: .utility).async(group: group) { cache.waitForWrites() } }
        group.notify(queue: .global(qos: .utility), execute: completion)
    }

    /// URLRequest's default, in seconds.
    private static let defaultTimeoutInterval: TimeInterval = 60
}

extension Duration {
    /// `timeInterval` seconds; what is no time at all or beyond a century counts as a century, for "never".
    init(timeInterval: TimeInterval) {
        let century = 100.0 * 366 * 24 * 60 * 60
        self = .seconds(timeInterval > 0 && timeInterval < century ? timeInterval : century)
    }
}
