import Foundation
import CurlNetworkingLoopbackServer
import TestSupport

@testable import CurlNetworking

/// A server that lets in who answers its Digest challenge right: it computes the answer from what it knows itself, and takes
/// each count of a nonce once.
final class DigestGuard: Sendable {
    struct State: Sendable {
        var nonce = 0
        /// How often each nonce was used.
        var counts: [String: Int] = [:]
        var mistakes: [String] = []
        /// Nonces older than this are stale.
        var oldest = 1
        /// By the nonces that are used in them.
        var sessions: [String: Session] = [:]
    }

    /// What a session's key is made of, once: the nonces of the first right answer to a challenge (RFC 7616 §3.4.2).
    struct Session: Sendable {
        let nonce: String
        let clientNonce: String
    }

    let state = Watched(State())
    private let challenge: String
    private let digest: MessageDigest
    private let isSession: Bool
    /// Each answer names the nonce for the next request.
    private let namesNext: Bool
    /// A nonce is stale once it was used.
    private let takesNoncesOnce: Bool
    /// Whether challenges say so if only the nonce was stale.
    private let saysStale: Bool

    /// - Parameter challenge: What stands behind the nonce in each challenge.
    init(
        _ challenge: String = #"qop="auth", opaque="o,p""#,
        usesSHA256: Bool = false,
        isSession: Bool = false,
        namesNext: Bool = false,
        takesNoncesOnce: Bool = false,
        saysStale: Bool = true
    ) {
        self.challenge = challenge
        digest = usesSHA256 ? .sha256 : .md5
        self.isSession = isSession
        self.namesNext = namesNext
        self.takesNoncesOnce = takesNoncesOnce
        self.saysStale = saysStale
    }

    func server() throws -> LoopbackServer {
        try LoopbackServer { self.answer($0) }
    }

    /// From now on all nonces that were given out are too old.
    func expire() {
        state.update { $0.oldest = $0.nonce + 1 }
    }

    private func answer(_ request: LoopbackServer.Request) -> LoopbackServer.Response {
        let parts = parts(of: request, "Authorization")
        if let challenge = challenge(of: request, parts) {
            return .text("closed", status: 401).header("WWW-Authenticate", challenge)
        }
        let response = LoopbackServer.Response.text("open \(request.method) \(request.text)")
        guard namesNext, let nonce = parts["nonce"] else { return response }
        let session = self.session(of: parts, nonce)
        let next = "n\(newNonce())"
        state.update { $0.sessions[next] = session }
        return response.header("Authentication-Info", #"nextnonce="\#(next)""#)
    }

    /// A server's challenge of a request that doesn't show the credential; nil for one that does.
    func challenge(of request: LoopbackServer.Request) -> String? {
        challenge(of: request, parts(of: request, "Authorization"))
    }

    /// A proxy's challenge of a request that doesn't show the credential; nil for one that does.
    func proxyChallenge(of request: LoopbackServer.Request) -> String? {
        challenge(of: request, parts(of: request, "Proxy-Authorization"))
    }

    private func parts(of request: LoopbackServer.Request, _ field: String) -> [String: String] {
        request.header(field).flatMap { AuthenticationField.challenges(in: [$0]).first }?.parameters ?? [:]
    }

    private func challenge(of request: LoopbackServer.Request, _ parts: [String: String]) -> String? {
        func refuse(_ stale: String) -> String {
            #"Digest realm="vault", nonce="n\#(newNonce())", \#(challenge)\#(stale)"#
        }
        guard let nonce = parts["nonce"], isRight(parts, nonce, request) else { return refuse("") }
        guard Int(nonce.dropFirst()) ?? 0 >= state.value.oldest, note(parts, nonce) else {
            return refuse(saysStale ? ", stale=true" : "")
        }
        let session = self.session(of: parts, nonce)
        state.update { $0.sessions[nonce] = session }
        return nil
    }

    /// The one that `nonce` belongs to, or the new one that an answer with `parts` begins.
    private func session(of parts: [String: String], _ nonce: String) -> Session {
        state.value.sessions[nonce] ?? Session(nonce: nonce, clientNonce: parts["cnonce"] ?? "")
    }

    private func isRight(_ parts: [String: String], _ nonce: String, _ request: LoopbackServer.Request) -> Bool {
        var key = digest.hex("user:\(parts["realm"] ?? ""):secret")
        if isSession {
            let session = self.session(of: parts, nonce)
            key = digest.hex("\(key):\(session.nonce):\(session.clientNonce)")
        }
        let action = digest.hex("\(request.method):\(request.target)")
        let middle = parts["qop"].map { "\(nonce):\(parts["nc"] ?? ""):\(parts["cnonce"] ?? ""):\($0)" } ?? nonce
        return parts["response"] == digest.hex("\(key):\(middle):\(action)") && parts["uri"] == request.target
            && parts["username"] == "user"
    }

    /// A count that comes twice would be a replay. False if the nonce was used before, and may not be.
    private func note(_ parts: [String: String], _ nonce: String) -> Bool {
        state.update { state in
            let last = state.counts[nonce] ?? 0
            if takesNoncesOnce, last > 0 { return false }
            if let count = parts["nc"].flatMap({ Int($0, radix: 16) }) {
                // Of requests over several connections with the same nonce, any may come first; the others are refused.
                let isInOrder = takesNoncesOnce ? count > 0 : count == last + 1
                if !isInOrder { state.mistakes.append("nonce \(nonce) has count \(count) after \(last)") }
                if parts["opaque"] != "o,p" { state.mistakes.append("opaque is \(parts["opaque"] ?? "missing")") }
            }
            state.counts[nonce] = last + 1
            return true
        }
    }

    private func newNonce() -> Int {
        state.update { state in
            state.nonce += 1
            return state.nonce
        }
    }
}
