import CurlTransport
import Foundation

/// The protection space of a TLS handshake: a stock one, plus what a delegate is asked about.
///
/// `@unchecked Sendable`: immutable.
final class HandshakeSpace: URLProtectionSpace, @unchecked Sendable {
    let trust: ServerTrust?
    let authorities: [Data]?

    init(_ trust: ServerTrust, at origin: Origin) {
        self.trust = trust
        authorities = nil
        super.init(
            host: origin.host,
            port: origin.port,
            protocol: origin.scheme.rawValue,
            realm: nil,
            authenticationMethod: NSURLAuthenticationMethodServerTrust
        )
    }

    init(authorities: [Data], at origin: Origin) {
        trust = nil
        self.authorities = authorities
        super.init(
            host: origin.host,
            port: origin.port,
            protocol: origin.scheme.rawValue,
            realm: nil,
            authenticationMethod: NSURLAuthenticationMethodClientCertificate
        )
    }

    /// For a handshake's question.
    convenience init(_ question: HandshakeQuestion, at origin: Origin) {
        switch question {
        case .serverTrust(let chain, let result, let reason):
            let trust = ServerTrust(host: origin.host, chain: chain, verification: result, reason: reason)
            self.init(trust, at: origin)
        case .clientCertificate(let authorities):
            self.init(authorities: authorities.map { Data($0) }, at: origin)
        }
    }

    override func copy(with zone: NSZone?) -> Any { self }

    // The stock class compares by identity.
    override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? HandshakeSpace else { return false }
        return hasSameValues(as: other) && trust == other.trust && authorities == other.authorities
    }

    override var hash: Int {
        var hasher = Hasher()
        hasher.combine(port)
        hasher.combine(trust)
        hasher.combine(authorities)
        return hasher.finalize()
    }
}

/// A credential for a TLS handshake, with neither user name nor password.
///
/// `@unchecked Sendable`: immutable.
final class HandshakeCredential: URLCredential, @unchecked Sendable {
    enum Content: Hashable, Sendable {
        case trust(ServerTrust)
        case identity(TLSIdentity)
    }

    let content: Content

    init(_ content: Content, _ persistence: URLCredential.Persistence) {
        self.content = content
        super.init(user: "", password: "", persistence: persistence)
    }

    /// It is never archived.
    required init?(coder: NSCoder) {
        nil
    }

    override var user: String? { nil }
    override var password: String? { nil }
    override var hasPassword: Bool { false }

    override func copy(with zone: NSZone?) -> Any { self }

    override func isEqual(_ object: Any?) -> Bool {
        (object as? HandshakeCredential)?.content == content
    }

    override var hash: Int { content.hashValue }
}

extension ServerTrust {
    init(host: String, chain: [[UInt8]], verification: Int, reason: String) {
        self.init(
            host: host,
            certificates: chain.map { Data($0) },
            problem: CertificateProblem(verification: verification),
            reason: reason
        )
    }
}
