import CurlTransport
import Foundation

/// How a session's connections use TLS: whose certificates are trusted, and with which versions, cipher suites, client certificates and
/// pins. Any thread.
struct TLSPlan: Sendable {
    /// A host's options, and the authorities that they name.
    private struct HostPlan: Sendable {
        let options: CurlOptions.TLSOptions
        let trust: TrustPlan
    }

    private let plans: HostValues<HostPlan>
    private let hosts: HostRules
    /// nil if the program hasn't set one.
    private let minimumVersion: tls_protocol_version_t?
    private let maximumVersion: tls_protocol_version_t
    /// nil if names aren't looked up over HTTPS, or if the system's authorities apply.
    private let resolverTrust: ResolverTrust?
    /// The environment's authorities; nil if there are none, and the system's apply.
    private let proxyTrust: ProxyTrust?

    init(
        _ configuration: URLSessionConfiguration,
        _ hosts: HostRules,
        environment: [String: String] = TrustPlan.environment()
    ) {
        func plan(_ options: CurlOptions.TLSOptions) -> HostPlan {
            HostPlan(options: options, trust: TrustPlan(options, environment))
        }
        let curl = configuration.curl
        let own = plan(curl.tls)
        plans = hosts.values({ $0.tls.map(plan) }, otherwise: own)
        self.hosts = hosts
        minimumVersion = configuration.chosenMinimumTLSVersion
        maximumVersion = configuration.tlsMaximumSupportedProtocolVersion
        resolverTrust = curl.names.dnsOverHTTPS == nil ? nil : own.trust.store.map(ResolverTrust.init)
        proxyTrust = TrustPlan(CurlOptions.TLSOptions(), environment).store.map(ProxyTrust.init)
    }

    /// libcurl's settings for connections to `origin`, where they differ from its defaults.
    func connectionSettings(for origin: Origin) -> [any ConnectionSettings] {
        let resolverTrust = resolverTrust.map { [$0] } ?? []
        // libcurl can also be told to secure a plain FTP connection: USE_SSL.
        guard origin.usesTLS || origin.isFTP else { return resolverTrust }
        do throws(TransferFailure) {
            let (settings, own) = try content(for: origin)
            let store = own ?? (settings.verifiesServer && TrustStore.replacesDefault ? .system : nil)
            return (settings == TLSSettings() ? [] : [settings]) + (store.map { [$0] } ?? []) + resolverTrust
        } catch {
            return [ImpossibleTLS(failure: error)]
        }
    }

    /// libcurl's settings for connections through `proxy`, where they differ from its defaults, except for authorities that it has itself.
    func connectionSettings(through proxy: CurlOptions.ProxyServer) -> [any ConnectionSettings] {
        guard proxy.scheme == .https, proxy.certificateAuthorities == nil else { return [] }
        return proxyTrust.map { [$0] } ?? []
    }

    /// The settings for a TLS connection to `origin` outside libcurl.
    func peer(at origin: Origin) throws(TransferFailure) -> TLSClient.Peer {
        var peer = TLSClient.Peer(host: origin.hostWithoutZone)
        (peer.settings, peer.trust) = try content(for: origin)
        return peer
    }

    private func content(for origin: Origin) throws(TransferFailure) -> (TLSSettings, TrustStore?) {
        let plan = plans[origin]
        let options = plan.options
        var settings = TLSSettings()
        let (minimum, maximum) = try versions(options)
        if minimum != Self.defaultMinimum { settings.minimumVersion = minimum.rawValue }
        if maximum != Self.defaultMaximum { settings.maximumVersion = maximum.rawValue }
        settings.cipherList = options.cipherSuites?.joined(separator: ":")
        settings.cipherSuites = options.tls13CipherSuites?.joined(separator: ":")
        settings.publicKeyPins = hosts.first(\.publicKeyPins, for: origin)?.joined(separator: ";")
        if let identity = options.identity {
            settings.clientCertificate = identity.certificate
            settings.clientCertificateHost = origin.certificateHost
        }
        settings.verifiesServer = !trustsAnyCertificate(origin)
        return (settings, plan.trust.store)
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

    func trustsAnyCertificate(_ origin: Origin) -> Bool {
        hosts.first(\.trustsAnyCertificate, for: origin) ?? false
    }

    /// The trust that applies at `origin`, which uses TLS, as a string that is equal for all sessions that trust the same authorities and
    /// keys; nil for the system's authorities.
    func trustMark(for origin: Origin) -> String? {
        let authorities = plans[origin].trust.mark
        guard let pins = hosts.first(\.publicKeyPins, for: origin), !pins.isEmpty else { return authorities }
        return SHA256.digest(of: (pins + [authorities ?? ""]).joined(separator: "\n").utf8)
    }

    func hasIdentity(_ origin: Origin) -> Bool {
        plans[origin].options.identity != nil
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
