import Foundation

/// The authentication method of challenges about a server's certificate, answered by the session's delegate. See <doc:TLS>.
///
/// Source: <https://developer.apple.com/documentation/foundation/nsurlauthenticationmethodservertrust>
public let NSURLAuthenticationMethodServerTrust = "NSURLAuthenticationMethodServerTrust"

/// The authentication method of challenges by servers that want to see a certificate.
///
/// Source: <https://developer.apple.com/documentation/foundation/nsurlauthenticationmethodclientcertificate>
public let NSURLAuthenticationMethodClientCertificate = "NSURLAuthenticationMethodClientCertificate"

/// What a server has presented to prove who it is, and what verifying that came to: this module's counterpart of `SecTrust`.
public struct ServerTrust: Sendable, Hashable {
    /// The host that was asked for.
    public let host: String
    /// The certificates as the server sent them, its own first, in DER. Don't take them for more than claims.
    public let certificates: [Data]
    /// What is wrong with them; nil where the system's verification has succeeded.
    public let problem: CertificateProblem?
    /// OpenSSL's words about the verification: "ok", or the reason why it failed.
    public let reason: String

    /// The same certificates in PEM (RFC 7468).
    public var pemCertificates: [String] { certificates.map(PEM.encode) }

    /// Whether the certificates are good for the host by the rules of the session.
    public var isTrusted: Bool { problem == nil }
}

extension URLProtectionSpace {
    /// What the server has presented; nil unless ``authenticationMethod`` is ``NSURLAuthenticationMethodServerTrust``.
    ///
    /// Apple's property of this name is a `SecTrust`.
    public var serverTrust: ServerTrust? { (self as? HandshakeSpace)?.trust }

    /// The names of authorities (X.501, in DER) whose certificates the server accepts; none for any. nil unless
    /// ``authenticationMethod`` is ``NSURLAuthenticationMethodClientCertificate``.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlprotectionspace/distinguishednames>
    public var distinguishedNames: [Data]? { (self as? HandshakeSpace)?.authorities }
}

/// Gives `URLCredential` initialisers; nothing else conforms.
public protocol TLSCredential {}

extension URLCredential: TLSCredential {}

extension TLSCredential where Self == URLCredential {
    /// Accepts the server that has presented just these certificates, whatever verifying them came to.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlcredential/init(trust:)>
    public init(trust: ServerTrust) {
        self = HandshakeCredential(.trust(trust), .none)
    }

    /// Shows the server a certificate. It serves all of the session's connections to the host.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlcredential/init(identity:certificates:persistence:)>
    public init(identity: TLSIdentity, persistence: URLCredential.Persistence = .forSession) {
        self = HandshakeCredential(.identity(identity), persistence)
    }
}

extension URLCredential {
    /// What the credential was made with; nil for all others. Apple has no property for it.
    public var trust: ServerTrust? {
        guard case .trust(let trust) = (self as? HandshakeCredential)?.content else { return nil }
        return trust
    }

    /// The certificate to show; nil for credentials of other kinds.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlcredential/identity>
    public var identity: TLSIdentity? {
        guard case .identity(let identity) = (self as? HandshakeCredential)?.content else { return nil }
        return identity
    }
}
