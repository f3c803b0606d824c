import Foundation

/// A challenge of Digest authentication (RFC 7616) that can be answered.
struct DigestChallenge: Sendable, Equatable {
    var digest: MessageDigest
    /// nil unless the algorithm is one with a session ("-sess").
    private(set) var session: Session?
    var realm: String
    var nonce: ExactText
    var opaque: String?
    /// Whether the server lists qualities of protection, including "auth"; otherwise it uses RFC 2069.
    var hasQuality: Bool
    /// Whether the nonce was too old, and nothing else was wrong.
    var isStale: Bool
    var hashesUser: Bool
    /// Whether the server understands the notation for user names that aren't ASCII.
    private var acceptsEncodedUser: Bool
    /// The URIs that the credential is valid for; empty for the whole server.
    var domain: [String]
    /// A longer list counts as the whole server.
    static let longestDomain = 64
    /// As the server wrote it, to be sent back.
    private var algorithm: String?

    /// The nonces with which the key is hashed in all answers to one challenge, even after the server has named the next nonce: a server
    /// may compute the key only once (RFC 7616 §3.4.2).
    struct Session: Sendable, Equatable {
        /// The challenge's own.
        let nonce: String
        /// Sent with all those answers.
        let clientNonce: String
    }

    /// nil for a challenge that can't be answered: without a nonce, with control characters (which would have to be sent back), with an
    /// algorithm that isn't in RFC 7616, or with "auth-int" only, which would need the whole body before the head is sent.
    init?(_ field: AuthenticationField) {
        guard field.scheme.isEqualIgnoringASCIICase(to: "Digest"), let nonce = field.parameters["nonce"],
            !field.parameters.values.contains(where: { $0.utf8.contains { $0 < 0x20 } })
        else { return nil }
        algorithm = field.parameters["algorithm"]
        let isSession: Bool
        switch (algorithm ?? "MD5").lowercased() {
        case "md5": (digest, isSession) = (.md5, false)
        case "md5-sess": (digest, isSession) = (.md5, true)
        case "sha-256": (digest, isSession) = (.sha256, false)
        case "sha-256-sess": (digest, isSession) = (.sha256, true)
        case "sha-512-256": (digest, isSession) = (.sha512256, false)
        case "sha-512-256-sess": (digest, isSession) = (.sha512256, true)
        default: return nil
        }
        let qualities = field.parameters["qop"]?.split { ", \t".contains($0) }.map { $0.lowercased() } ?? []
        guard qualities.isEmpty || qualities.contains("auth") else { return nil }
        hasQuality = !qualities.isEmpty
        realm = field.parameters["realm"] ?? ""
        self.nonce = ExactText(nonce)
        session = isSession ? Session(nonce: nonce, clientNonce: Self.makeClientNonce()) : nil
        opaque = field.parameters["opaque"]
        isStale = field.parameters["stale"]?.lowercased() == "true"
        hashesUser = field.parameters["userhash"]?.lowercased() == "true"
        acceptsEncodedUser = field.parameters["charset"]?.lowercased() == "utf-8"
        let domain = field.parameters["domain"]?.split { " \t".contains($0) } ?? []
        self.domain = domain.count > Self.longestDomain ? [] : domain.map(String.init)
    }

    /// The nonce that a response asks to use next; nil if there is none or it can't be used.
    static func nextNonce(in head: ResponseHead, of party: AuthenticationParty) -> ExactText? {
        guard let information = head[party.informationField] else { return nil }
        // A list of parameters, as after a scheme.
        let nonce = AuthenticationField.challenges(in: ["Digest \(information)"]).first?.parameters["nextnonce"]
        guard let nonce, !nonce.isEmpty, !nonce.utf8.contains(where: { $0 < 0x20 }) else { return nil }
        return ExactText(nonce)
    }

    /// A request to be authorised.
    struct Request {
        var method: String
        /// The request-target: path and query.
        var target: String
        /// The number of this request among those with this nonce, from 1.
        var count: UInt32
        /// Never used before. A session has its own.
        var clientNonce: String
    }

    /// 128 random bits.
    static func makeClientNonce() -> String { UInt128.random(in: .min ... .max).paddedHex }

    /// The value of the `Authorization` field.
    func authorization(user: String, password: String, for request: Request) -> String {
        let count = request.count.paddedHex
        let clientNonce = session?.clientNonce ?? request.clientNonce
        var key = digest.hex("\(user):\(realm):\(password)")
        if let session { key = digest.hex("\(key):\(session.nonce):\(session.clientNonce)") }
        let action = digest.hex("\(request.method):\(request.target)")
        let middle = hasQuality ? "\(nonce.text):\(count):\(clientNonce):auth" : nonce.text
        var parts = [
            userPart(user),
            "realm=\(realm.quoted)",
            "nonce=\(nonce.text.quoted)",
            "uri=\(request.target.quoted)",
            "response=\"\(digest.hex("\(key):\(middle):\(action)"))\"",
        ]
        if let algorithm { parts.append("algorithm=\(algorithm)") }
        if hasQuality { parts += ["qop=auth", "nc=\(count)"] }
        if hasQuality || session != nil { parts.append("cnonce=\"\(clientNonce)\"") }
        if let opaque { parts.append("opaque=\(opaque.quoted)") }
        if hashesUser { parts.append("userhash=true") }
        return "Digest " + parts.joined(separator: ", ")
    }

    /// RFC 7616 §3.4: a name that isn't plain ASCII is hashed, or percent-encoded if the server announces UTF-8. Other servers get it in
    /// UTF-8, as browsers and libcurl send it, unless it could end the line.
    private func userPart(_ user: String) -> String {
        if hashesUser { return "username=\"\(digest.hex("\(user):\(realm)"))\"" }
        let isPlain = user.utf8.allSatisfy { (0x20..<0x7f).contains($0) }
        let hasControls = user.utf8.contains { $0 < 0x20 || $0 == 0x7f }
        guard isPlain || !acceptsEncodedUser && !hasControls else {
            let encoded = user.addingPercentEncoding(withAllowedCharacters: Self.plain) ?? ""
            return "username*=UTF-8''\(encoded)"
        }
        return "username=\(user.quoted)"
    }

    private static let plain = CharacterSet(
        charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!#$&+-.^_`|~"
    )
}
