import Foundation

/// The part of a background session's configuration that its agent needs. It may contain passwords, such as a proxy's.
struct SessionDescription: Codable, Sendable {
    /// The program and its delegate's type: while both are unchanged, the delegate answers as before.
    var program: String
    /// In seconds.
    var requestTimeout: TimeInterval
    var resourceTimeout: TimeInterval
    var maximumConnectionsPerHost: Int
    /// The configuration's fields, and those that describe the program: otherwise requests would describe the agent.
    var headers: [String: String]
    /// nil if the program has set none.
    var minimumTLS: UInt16?
    var maximumTLS: UInt16
    /// `connectionProxyDictionary` as a property list; nil for the environment's proxies.
    var proxies: Data?
    /// The proxy variables of the program's environment; nil if the dictionary counts. If both are missing, as from earlier versions of a
    /// program, the agent's own environment counts.
    var proxyEnvironment: [String: String]?
    var usesCookies: Bool
    var acceptsCookies: Bool
    var isDiscretionary: Bool
    var launchCommand: [String]
    var resumableSize: Int64
    /// The only directory from which the program may hand over partial downloads.
    var temporaryDirectory: URL?
    var options: AgentOptions

    /// - Parameter environment: The program's, as far as it concerns proxies.
    init(
        _ configuration: URLSessionConfiguration,
        delegate: (any URLSessionDelegate)?,
        environment: [String: String] = ProxyTable.environment
    ) {
        program = Self.program(delegate)
        requestTimeout = configuration.timeoutIntervalForRequest
        resourceTimeout = configuration.timeoutIntervalForResource
        maximumConnectionsPerHost = configuration.httpMaximumConnectionsPerHost
        let fields = HeaderRules.additional(configuration.httpAdditionalHeaders ?? [:])
        let others = RequestEncoder.programFields.filter { !fields.contains($0.name) }
        headers = Dictionary((fields + others).map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
        minimumTLS = configuration.chosenMinimumTLSVersion?.rawValue
        maximumTLS = configuration.tlsMaximumSupportedProtocolVersion.rawValue
        proxies = configuration.connectionProxyDictionary.flatMap(Self.proxies)
        if configuration.connectionProxyDictionary == nil { proxyEnvironment = environment }
        usesCookies = configuration.httpShouldSetCookies && configuration.httpCookieStorage != nil
        acceptsCookies = configuration.httpCookieStorage != nil && configuration.httpCookieAcceptPolicy != .never
        isDiscretionary = configuration.isDiscretionary
        let curl = configuration.curl
        launchCommand = configuration.sessionSendsLaunchEvents ? curl.background.launchCommand : []
        resumableSize = curl.background.resumableSize
        temporaryDirectory = curl.temporaryDirectory
        options = AgentOptions(curl)
    }

    private static let maximumProxyContainers = 16

    /// A `connectionProxyDictionary` as the agent reads it; nil if a property list can't hold it.
    static func proxies(_ dictionary: [AnyHashable: Any]) -> Data? {
        let named = Dictionary(dictionary.map { ("\($0.key.base)", $0.value) }, uniquingKeysWith: { first, _ in first })
        return UntrustedPropertyList.data(named, containers: maximumProxyContainers)
    }

    private static func program(_ delegate: (any URLSessionDelegate)?) -> String {
        var status = stat()
        let type = delegate.map { String(reflecting: Swift.type(of: $0)) } ?? "none"
        guard stat("/proc/self/exe", &status) == 0 else { return type }
        return "\(type) \(status.st_dev).\(status.st_ino).\(status.st_mtim.tv_sec).\(status.st_mtim.tv_nsec)"
    }

    /// Whether both have the same encoding; false if either can't be encoded.
    func equals(_ other: SessionDescription) -> Bool {
        guard let bytes = try? WireCoding.sortingEncoder.encode(self) else { return false }
        return bytes == (try? WireCoding.sortingEncoder.encode(other))
    }

    /// The configuration of the agent's own session, whose files are in `folder`. Throws if it makes no sense: it may have been read from
    /// a file.
    func makeConfiguration(in folder: URL) throws -> URLSessionConfiguration {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        // The program's delegate is told of no response, so it couldn't tell where a part ends.
        configuration.dividesParts = false
        configuration.waitsForConnectivity = true
        configuration.timeoutIntervalForRequest = requestTimeout
        // The agent's own clock counts the time of all attempts, and ends the last one.
        configuration.timeoutIntervalForResource = .infinity
        configuration.httpMaximumConnectionsPerHost = maximumConnectionsPerHost
        configuration.httpAdditionalHeaders = headers
        if let minimumTLS, let version = tls_protocol_version_t(rawValue: minimumTLS) {
            configuration.tlsMinimumSupportedProtocolVersion = version
        }
        if let version = tls_protocol_version_t(rawValue: maximumTLS) {
            configuration.tlsMaximumSupportedProtocolVersion = version
        }
        if let proxies {
            guard let list = UntrustedPropertyList.dictionary(proxies, containers: Self.maximumProxyContainers) else {
                throw CocoaError(.propertyListReadCorrupt)
            }
            configuration.connectionProxyDictionary = list
        }
        configuration.proxyEnvironment = proxyEnvironment
        configuration.httpShouldSetCookies = usesCookies
        if !acceptsCookies { configuration.httpCookieAcceptPolicy = .never }
        if !usesCookies, !acceptsCookies { configuration.httpCookieStorage = nil }
        // A storage only says that tasks have cookies: each has its own. Only credentials in the program's own storage count, and the agent
        // asks the program for them.
        configuration.urlCredentialStorage = nil
        var curl = options.options
        curl.temporaryDirectory = folder
        try curl.validate()
        configuration.curl = curl
        return configuration
    }
}

/// The options that the agent applies. A test lists the others.
struct AgentOptions: Codable, Sendable {
    var tls: CurlOptions.TLSOptions
    var strictTransportSecurity: CurlOptions.StrictTransportSecurity
    var proxy: CurlOptions.Proxy
    var hosts: CurlOptions.HostTable
    var names: CurlOptions.Names
    var maximumConnections: Int?
    var maximumKeptConnections: Int?
    var maximumStreamsPerConnection: Int?
    var httpVersion: CurlOptions.HTTPVersion
    var connections: CurlOptions.ConnectionOptions
    var uploadInteropVersion: Int?

    init(_ options: CurlOptions) {
        tls = options.tls
        strictTransportSecurity = options.strictTransportSecurity
        proxy = options.proxy
        hosts = options.hosts
        names = options.names
        maximumConnections = options.maximumConnections
        maximumKeptConnections = options.maximumKeptConnections
        maximumStreamsPerConnection = options.maximumStreamsPerConnection
        httpVersion = options.httpVersion
        connections = options.connections
        uploadInteropVersion = options.uploadInteropVersion
    }

    var options: CurlOptions {
        var options = CurlOptions()
        options.tls = tls
        options.strictTransportSecurity = strictTransportSecurity
        options.proxy = proxy
        options.hosts = hosts
        options.names = names
        options.maximumConnections = maximumConnections
        options.maximumKeptConnections = maximumKeptConnections
        options.maximumStreamsPerConnection = maximumStreamsPerConnection
        options.httpVersion = httpVersion
        options.connections = connections
        options.uploadInteropVersion = uploadInteropVersion
        return options
    }
}
