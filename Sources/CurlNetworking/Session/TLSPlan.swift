import CurlTransport
import Foundation

struct TLSPlan: Sendable {
    private let options: CurlOptions.TLSOptions
    /// nil if the program hasn't set one.
    private let minimumVersion: tls_protocol_version_t?
    private let maximumVersion: tls_protocol_version_t
    private let environment: [String: String]
    /// One for each set of authorities in the configuration, shared by hosts and with other sessions.
    private let stores: [TrustStore.Content: TrustStore]
    private static let allStores = WeakTable<TrustStore.Content, TrustStore>()
    private let marks: [TrustStore.Content: String]
    /// nil if names aren't looked up over HTTPS, or if the system's authorities apply.
    private let resolverTrust: ResolverTrust?

    init(_ configuration: URLSessionConfiguration, environment: [String: String] = TLSPlan.environment()) {
        let curl = configuration.curl
        options = curl.tls
        minimumVersion = configuration.chosenMinimumTLSVersion
        maximumVersion = configuration.tlsMaximumSupportedProtocolVersion
        self.environment = environment
        let all = [curl.tls] + curl.hosts.patterns.compactMap { curl.hosts[$0].tls }
        let stores = Dictionary(
            all.compactMap { $0.trustContent(environment: environment) }.map { content in
                (content, Self.allStores.object(for: content) { TrustStore(content) })
            },
            uniquingKeysWith: { first, _ in first }
        )
        let own = curl.names.dnsOverHTTPS.flatMap { _ in curl.tls.trustContent(environment: environment) }
        resolverTrust = own.flatMap { stores[$0] }.map(ResolverTrust.init)
        self.stores = stores
        marks = Dictionary(uniqueKeysWithValues: stores.keys.map { ($0, $0.mark) })
    }

    /// libcurl's settings for connections to `origin`, where they differ from its defaults.
    func connectionSettings(for origin: Origin, _ hosts: HostRules) -> [any ConnectionSettings] {
        let resolverTrust = resolverTrust.map { [$0] } ?? []
        // libcurl can also be told to secure a plain FTP connection: USE_SSL.
        guard origin.usesTLS || origin.isFTP else { return resolverTrust }
        do throws(TransferFailure) {
            let (settings, own) = try content(for: origin, hosts)
            let store = own ?? (settings.verifiesServer && TrustStore.replacesDefault ? .system : nil)
            return (settings == TLSSettings() ? [] : [settings]) + (store.map { [$0] } ?? []) + resolverTrust
        } catch {
            return [ImpossibleTLS(failure: error)]
        }
    }

    /// The settings for a TLS connection to `origin` outside libcurl.
    func peer(at origin: Origin, _ hosts: HostRules) throws(TransferFailure) -> TLSClient.Peer {
        var peer = TLSClient.Peer(host: origin.hostWithoutZone)
        (peer.settings, peer.trust) = try content(for: origin, hosts)
        return peer
    }

    private func content(
        for origin: Origin,
        _ hosts: HostRules
    ) throws(TransferFailure) -> (TLSSettings, TrustStore?) {
        let options = options(for: origin, hosts)
        var settings = TLSSettings()
        let (minimum, maximum) = try versions(options)
        if minimum != Self.defaultMinimum { settings.minimumVersion = minimum.rawValue }
        if maximum != Self.defaultMaximum { settings.maximumVersion = maximum.rawValue }
        settings.cipherList = options.cipherSuites?.joined(separator: ":")
        settings.cipherSuites = options.tls13CipherSuites?.joined(separator: ":")
        settings.publicKeyPins = hosts.first(\.publicKeyPins, for: origin)?.joined(separator: ";")
        settings.clientCertificate = options.identity?.certificate
        settings.verifiesServer = !trustsAnyCertificate(origin, hosts)
        return (settings, options.trustContent(environment: environment).flatMap { stores[$0] })
    }

    /// The minimum and maximum versions. Apple's properties may contradict each other.
    private func versions(
        _ options: CurlOptions.TLSOptions
    ) throws(TransferFailure) -> (minimum: tls_protocol_version_t, maximum: tls_protocol_version_t) {
        let maximum = options.maximumVersion ?? maximumVersion
        let minimum = options.minimumVersion ?? minimumVersion ?? Self.minimum(upTo: maximum)
        guard [minimum, maximum].allSatisfy({ $0.rawValue <= tls_protocol_version_t.TLSv13.rawValue }) else {
            let text = "DTLS, which is for datagrams, is set as a version of TLS."
            throw TransferFailure(code: .sslConnectError, text: text)
        }
        guard minimum.rawValue <= maximum.rawValue else {
            let text = "The oldest version of TLS that is allowed is newer than the newest."
            throw TransferFailure(code: .sslConnectError, text: text)
        }
        return (minimum, maximum)
    }

    func trustsAnyCertificate(_ origin: Origin, _ hosts: HostRules) -> Bool {
        hosts.first(\.trustsAnyCertificate, for: origin) ?? false
    }

    /// The trust that applies at `origin`, which uses TLS, as a string that is equal for all sessions that trust the same authorities and
    /// keys; nil for the system's authorities.
    func trustMark(for origin: Origin, _ hosts: HostRules) -> String? {
        let content = options(for: origin, hosts).trustContent(environment: environment)
        let pins = hosts.first(\.publicKeyPins, for: origin) ?? []
        if content == nil, pins.isEmpty { return nil }
        let authorities = content.flatMap { marks[$0] } ?? ""
        return pins.isEmpty ? authorities : SHA256.digest(of: (pins + [authorities]).joined(separator: "\n").utf8)
    }

    func hasIdentity(_ origin: Origin, _ hosts: HostRules) -> Bool {
        options(for: origin, hosts).identity != nil
    }

    private func options(for origin: Origin, _ hosts: HostRules) -> CurlOptions.TLSOptions {
        hosts.first(\.tls, for: origin) ?? options
    }

    static func environment() -> [String: String] {
        var variables: [String: String] = [:]
        for name in ["SSL_CERT_FILE", "SSL_CERT_DIR"] { variables[name] = SecureEnvironment[name] }
        return variables
    }

    static let defaultMinimum = tls_protocol_version_t.TLSv12
    static let defaultMaximum = tls_protocol_version_t.TLSv13

    /// The minimum version if the program has set only the maximum.
    static func minimum(upTo maximum: tls_protocol_version_t) -> tls_protocol_version_t {
        maximum.rawValue < defaultMinimum.rawValue ? maximum : defaultMinimum
    }
}

/// Fails every transfer before it opens a connection.
private struct ImpossibleTLS: ConnectionSettings {
    let failure: TransferFailure

    func apply(to easy: EasyHandle) throws(TransferFailure) { throw failure }
}

extension TrustStore.Content {
    /// A string that is equal for equal content, in every process.
    fileprivate var mark: String {
        let sources = authorities.map { source in
            switch source {
            case .system: "system"
            case .file(let path): "file \(path)"
            case .directory(let path): "directory \(path)"
            case .certificate(let bytes): "certificate \(SHA256.digest(of: bytes))"
            }
        }
        let text = (sources + revocationLists.map { "list \($0)" }).joined(separator: "\n")
        return SHA256.digest(of: text.utf8)
    }
}

extension CurlOptions.TLSOptions {
    /// The authorities to trust; nil for the system's.
    func trustContent(environment: [String: String]) -> TrustStore.Content? {
        var authorities: [TrustStore.Source]
        if let trustRoots {
            authorities = trustRoots.flatMap(\.forCurl)
        } else {
            authorities = Self.authorities(in: environment)
            guard !authorities.isEmpty || !additionalTrustRoots.isEmpty || !revocationLists.isEmpty else { return nil }
            if authorities.isEmpty { authorities = [.system] }
        }
        authorities += additionalTrustRoots.flatMap(\.forCurl)
        return TrustStore.Content(authorities: authorities, revocationLists: revocationLists.map(\.path))
    }

    /// https://docs.openssl.org/3.0/man7/openssl-env/
    private static func authorities(in environment: [String: String]) -> [TrustStore.Source] {
        let file = environment["SSL_CERT_FILE"] ?? ""
        let directories = (environment["SSL_CERT_DIR"] ?? "").split(separator: ":").map(String.init)
        // As in OpenSSL, missing directories are skipped, unless all are missing.
        let existing = directories.filter { access($0, F_OK) == 0 }
        return (file.isEmpty ? [] : [.file(file)])
            + (existing.isEmpty ? directories : existing).map { .directory($0) }
    }
}

extension CurlOptions.TLSOptions.CertificateSource {
    fileprivate var forCurl: [TrustStore.Source] {
        switch self {
        case .file(let url): [.file(url.path)]
        case .directory(let url): [.directory(url.path)]
        case .data(let data): PEM.certificates(in: data).map { .certificate(Array($0)) }
        }
    }
}
