import CurlTransport
import Foundation

/// The meaning of a delegate's answer to a TLS handshake's question.
enum HandshakeDecision {
    /// The server gets this certificate, or none.
    case certificate(ClientCertificate?)
    /// The delegate trusts the chain, whatever the result of verification.
    case accepted([[UInt8]], hasProblem: Bool)
    /// The decision was left to verification, which accepted the chain.
    case verified([[UInt8]])
}

extension HandshakeQuestion {
    /// Throws the error that the handshake fails with.
    func decision(
        by answer: ChallengeAnswer,
        at origin: Origin,
        url: URL?
    ) throws(URLError) -> HandshakeDecision {
        guard answer.disposition != .cancelAuthenticationChallenge else {
            throw URLError.cancelled(url).with(phase: .securing)
        }
        let credential = answer.disposition == .useCredential ? answer.credential : nil
        switch self {
        case .clientCertificate:
            return .certificate(credential?.identity?.certificate)
        case .serverTrust(let chain, let result, let reason):
            let trust = ServerTrust(host: origin.host, chain: chain, verification: result, reason: reason)
            guard answer.disposition != .rejectProtectionSpace else {
                let description = "The delegate rejected the server's certificate."
                let error = URLError(.serverCertificateUntrusted, url: url, description)
                throw error.with(phase: .securing).with(peerTrust: trust)
            }
            if let accepted = credential?.trust, accepted.host == trust.host,
                accepted.certificates == trust.certificates
            {
                return .accepted(chain, hasProblem: result != 0)
            }
            guard result == 0 else {
                throw URLError(TransferFailure.untrusted(result, reason), url: url).with(peerTrust: trust)
            }
            return .verified(chain)
        }
    }
}

extension ChallengeQuestion {
    /// The challenge for a TLS handshake's question.
    init(
        _ question: HandshakeQuestion,
        at origin: Origin,
        to order: Order = .sessionThenTask,
        sender: ChallengeSender
    ) {
        let challenge = URLAuthenticationChallenge(
            protectionSpace: HandshakeSpace(question, at: origin),
            proposedCredential: nil,
            previousFailureCount: 0,
            failureResponse: nil,
            error: nil,
            sender: sender
        )
        self.init(challenge: challenge, order: order, sender: sender)
    }
}
