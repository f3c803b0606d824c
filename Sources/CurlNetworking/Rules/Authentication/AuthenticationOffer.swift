import CurlTransport
import Foundation

/// The ways to authenticate, the strongest first.
enum AuthenticationScheme: Sendable, Hashable, CaseIterable {
    /// Kerberos (RFC 4559), if libcurl was built with support for it.
    case negotiate
    /// RFC 7616.
    case digest
    /// Done by libcurl if it was built with support for it. Authenticates the connection.
    case ntlm
    /// RFC 7617.
    case basic

    var name: String {
        switch self {
        case .negotiate: "Negotiate"
        case .digest: "Digest"
        case .ntlm: "NTLM"
        case .basic: "Basic"
        }
    }

    /// The value of `URLProtectionSpace.authenticationMethod`.
    var method: String {
        switch self {
        case .negotiate: NSURLAuthenticationMethodNegotiate
        case .digest: NSURLAuthenticationMethodHTTPDigest
        case .ntlm: NSURLAuthenticationMethodNTLM
        case .basic: NSURLAuthenticationMethodHTTPBasic
        }
    }

    /// Whether it authenticates the connection, so that the session's delegate is asked before the task's.
    var isOfConnection: Bool { self == .negotiate || self == .ntlm }

    fileprivate func isPossible(for party: AuthenticationParty) -> Bool {
        switch self {
        case .basic, .digest: true
        case .negotiate: party == .server && CurlLibrary.hasNegotiate
        case .ntlm: CurlLibrary.hasNTLM
        }
    }
}

/// The party that asks for credentials.
enum AuthenticationParty: Sendable, Hashable {
    case server
    case proxy

    /// nil if the status isn't a challenge's.
    init?(status: Int) {
        switch status {
        case 401: self = .server
        case 407: self = .proxy
        default: return nil
        }
    }

    var challengeField: String { self == .server ? "WWW-Authenticate" : "Proxy-Authenticate" }
    var answerField: String { self == .server ? "Authorization" : "Proxy-Authorization" }
    var informationField: String { self == .server ? "Authentication-Info" : "Proxy-Authentication-Info" }
}

/// A way to authenticate that a response offers and that is supported.
struct AuthenticationOffer: Sendable, Equatable {
    var scheme: AuthenticationScheme
    /// nil if the challenge names none.
    var realm: ExactText?
    var digest: DigestChallenge?

    /// More realms of one scheme aren't offered.
    private static let maximumRealms = 8

    /// The head's offers, the strongest first (RFC 9110 §11.3 leaves the choice to the client). Each realm of a scheme has one.
    static func offers(in head: ResponseHead, by party: AuthenticationParty) -> [AuthenticationOffer] {
        let values = head.fields.values(of: party.challengeField)
        guard !values.isEmpty else { return [] }
        let fields = AuthenticationField.challenges(in: values)
        return AuthenticationScheme.allCases.filter { $0.isPossible(for: party) }.flatMap { scheme in
            let own = fields.filter { $0.scheme.isEqualIgnoringASCIICase(to: scheme.name) }
            let offers =
                scheme == .digest
                ? digests(own)
                : own.map { AuthenticationOffer(scheme: scheme, realm: $0.parameters["realm"].map { ExactText($0) }) }
            var realms: Set<ExactText?> = []
            let distinct = offers.filter { realms.insert($0.realm).inserted }
            return distinct.prefix(scheme.isOfConnection ? 1 : maximumRealms)
        }
    }

    /// Those that can be answered, MD5 last.
    private static func digests(_ fields: [AuthenticationField]) -> [AuthenticationOffer] {
        let challenges = fields.compactMap(DigestChallenge.init)
        let sorted = challenges.filter { $0.digest != .md5 } + challenges.filter { $0.digest == .md5 }
        return sorted.map { AuthenticationOffer(scheme: .digest, realm: ExactText($0.realm), digest: $0) }
    }

    /// Whether the head is an intermediate step of a handshake that libcurl does: it carries a token for the next step.
    ///
    /// - Parameter mayBegin: Whether a challenge without a token begins a handshake, as on a kept connection whose server has forgotten the
    ///   authentication, or wants one for each request.
    static func isHandshake(
        _ head: ResponseHead,
        of schemes: [AuthenticationParty: AuthenticationScheme],
        mayBegin: Bool
    ) -> Bool {
        guard let party = AuthenticationParty(status: head.status), let scheme = schemes[party], scheme.isOfConnection
        else { return false }
        let values = head.fields.values(of: party.challengeField)
        return AuthenticationField.challenges(in: values).contains { field in
            field.scheme.isEqualIgnoringASCIICase(to: scheme.name) && (field.token68 != nil || mayBegin)
        }
    }
}
