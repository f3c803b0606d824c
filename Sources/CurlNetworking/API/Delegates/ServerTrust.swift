import Foundation

/// The authentication method for challenges about a server's certificate, answered by the session's delegate. See <doc:TLS>.
///
/// Source: <https://developer.apple.com/documentation/foundation/nsurlauthenticationmethodservertrust>
public let NSURLAuthenticationMethodServerTrust = "NSURLAuthenticationMethodServerTrust"

/// The authentication method for challenges from servers that ask for a client certificate.
///
/// Source: <https://developer.apple.com/documentation/foundation/nsurlauthenticationmethodclientcertificate>
public let NSURLAuthenticationMethodClientCertificate = "NSURLAuthenticationMethodClientCertificate"

/// A server's certificates, and the result of verifying them: this module's counterpart of `SecTrust`.
public struct ServerTrust: Sendable, Hashable, Codable {
    /// The requested host.
    public let host: String
    /// The certificates as the server sent them, in DER, its own first. They prove nothing if there is a ``problem``.
    public let certificates: [Data]
    /// The problem with the certificates; nil if they were verified.
    public let problem: CertificateProblem?
    /// OpenSSL's text about the verification: "ok", or the reason it failed.
    public let reason: String

    /// The server's certificates in PEM (RFC 7468).
    public var pemCertificates: [String] { certificates.map(PEM.encode) }

    /// Whether the certificates are valid for the host under the session's rules.
    public var isTrusted: Bool { problem == nil }
}

extension URLProtectionSpace {
    /// The server's certificates; nil unless ``authenticationMethod`` is ``NSURLAuthenticationMethodServerTrust``.
    ///
    /// Apple's property of this name is a `SecTrust`.
    public var serverTrust: ServerTrust? { (self as? HandshakeSpace)?.trust }

    /// The names of the authorities (X.501, in DER) whose certificates the server accepts; empty if it accepts any. nil unless
    /// ``authenticationMethod`` is ``NSURLAuthenticationMethodClientCertificate``.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlprotectionspace/distinguishednames>
    public var distinguishedNames: [Data]? { (self as? HandshakeSpace)?.authorities }
}

/// A protocol that gives `URLCredential` its TLS initialisers. No other type conforms.
public protocol TLSCredential {}

extension URLCredential: TLSCredential {}

extension TLSCredential where Self == URLCredential {
    /// Creates a credential that accepts a server with exactly these certificates, verified or not.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlcredential/init(trust:)>
    public init(trust: ServerTrust) {
        self = HandshakeCredential(.trust(trust), .none)
    }

    /// Creates a client certificate credential, used for all of the session's connections to the host.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlcredential/init(identity:certificates:persistence:)>
    public init(identity: TLSIdentity, persistence: URLCredential.Persistence = .forSession) {
        self = HandshakeCredential(.identity(identity), persistence)
    }
}

extension URLCredential {
    /// The accepted certificates; nil for credentials of other kinds. Apple has no such property.
    public var trust: ServerTrust? {
        guard case .trust(let trust) = (self as? HandshakeCredential)?.content else { return nil }
        return trust
    }

    /// The client certificate; nil for credentials of other kinds.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlcredential/identity>
    public var identity: TLSIdentity? {
        guard case .identity(let identity) = (self as? HandshakeCredential)?.content else { return nil }
        return identity
    }
}
