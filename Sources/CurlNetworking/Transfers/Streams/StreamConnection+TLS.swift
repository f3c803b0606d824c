import CurlTransport
import Foundation

extension StreamConnection {
    // MARK: - The beginning

    func startTLS() {
        // The channel reads nothing more, and wouldn't report the end again.
        guard !hasReachedEnd else { return fail(.noHandshake) }
        guard case .none = security else {
            return fail(URLError(.secureConnectionFailed, url: url, "The stream speaks TLS already."))
        }
        // Otherwise a server that they reject could be accepted.
        if let option = site.hooks?.options.ofTLS {
            let error = CurlTransferError(CurlOption(option.name), Self.ownTLS)
            return fail(URLError(configureTransfer: error, url: url).with(phase: .securing))
        }
        let tls: TLSClient
        do throws(TransferFailure) {
            var peer = try site.peer.get()
            peer.asks = port.owner?.delegates.base != nil
            tls = try TLSClient(peer)
            // Unread plain text can't be part of the handshake: an attacker may have injected it (RFC 3207 §4.1.1).
            guard port.surplus.isEmpty else {
                throw TransferFailure(code: .sslConnectError, text: Self.injection, phase: .securing)
            }
        } catch {
            return fail(error)
        }
        security = .handshake(tls)
        port.limitTransition(to: site.handshakeTimeout)
        advanceTLS()
    }

    private static let ownTLS =
        "startSecureConnection() doesn't use libcurl for TLS, so this option has no effect on it; use curl.tls instead."

    private static let injection =
        "There are unread bytes in plain text that came before TLS was begun."

    /// Called when more bytes arrive, or the delegate answers.
    func advanceTLS() {
        switch security {
        case .handshake(let tls): shakeHands(tls)
        case .ending(let tls): drain(tls)
        case .none, .asking, .established, .lost: break
        }
    }

    private func shakeHands(_ tls: TLSClient) {
        do throws(TransferFailure) {
            let handshake = try tls.shakeHands()
            flush(tls)
            switch handshake {
            case .needsInput:
                break
            case .asks(let question):
                port.limitTransition(to: nil)
                ask(question, tls)
            case .done:
                security = .established(tls)
                owner.streamSecured(tls.session)
                port.transitionEnded()
            }
        } catch {
            // Sends the alert that says why.
            flush(tls)
            fail(error)
        }
    }

    private func ask(_ question: HandshakeQuestion, _ tls: TLSClient) {
        guard let owner = port.owner else { return }
        let asking = Asking(question)
        security = .asking(tls, asking)
        let answered = Answered(self)
        let sender = ChallengeSender { [weak owner] answer in
            owner?.submit { answered.connection?.answered(asking, answer) }
        }
        asking.sender = sender
        owner.ask(.challenge(ChallengeQuestion(question, at: site.origin, to: .taskThenSession, sender: sender)))
    }

    /// Carries the connection through other threads.
    ///
    /// `@unchecked Sendable`: the connection is used only on the loop.
    private final class Answered: @unchecked Sendable {
        weak var connection: StreamConnection?

        init(_ connection: StreamConnection) {
            self.connection = connection
        }
    }

    private func answered(_ asking: Asking, _ answer: ChallengeAnswer) {
        guard case .asking(let tls, let current) = security, current === asking else { return }
        let decision: HandshakeDecision
        do throws(URLError) {
            decision = try asking.question.decision(by: answer, at: site.origin, url: url)
        } catch {
            return fail(error)
        }
        do throws(TransferFailure) {
            switch decision {
            case .certificate(let certificate): try tls.present(certificate)
            case .accepted, .verified: tls.trustServer()
            }
        } catch {
            return fail(error)
        }
        security = .handshake(tls)
        port.limitTransition(to: site.handshakeTimeout)
        advanceTLS()
        portChanged()
    }

    // MARK: - The end

    func stopTLS() {
        guard case .established(let tls) = security else { return port.transitionEnded() }
        tls.close()
        flush(tls)
        security = .ending(tls)
        port.limitTransition(to: site.handshakeTimeout)
        drain(tls)
    }

    /// The most that is kept of the other side's remaining TLS data, in bytes.
    private static let maximumLeftover = 1 << 20

    /// Keeps the data that the other side sent before it ended TLS for the next reads.
    private func drain(_ tls: TLSClient) {
        do throws(TransferFailure) {
            while true {
                let (reading, bytes) = try tls.read(most: Self.maximumLeftover)
                switch reading {
                case .needsInput where hasReachedEnd: return endTLS(.lost(.truncatedTLS))
                case .needsInput: return
                case .closed:
                    leftover.append(contentsOf: tls.takeRemainder())
                    return endTLS(.none)
                case .bytes:
                    leftover.append(bytes)
                    guard leftover.count <= Self.maximumLeftover else {
                        throw TransferFailure(code: .recvError, text: Self.talkative, phase: .receiving)
                    }
                }
            }
        } catch {
            fail(error)
        }
    }

    private static let talkative = "The server doesn't end TLS, and sends more than is kept."

    /// Continues the stream in plain text, or has it fail at the next read or write for which nothing is left.
    func endTLS(_ next: Security) {
        guard case .ending = security else { return }
        security = next
        let bytes = leftover
        leftover = Data()
        if !bytes.isEmpty { port.received(bytes) }
        if case .none = security, hasReachedEnd { port.receivedEnd() }
        port.transitionEnded()
    }
}

extension TransferFailure {
    /// The server closed the connection during the TLS handshake, or before it.
    static var noHandshake: TransferFailure {
        let text = "The server closed the connection before the TLS handshake was done."
        return TransferFailure(code: .sslConnectError, text: text, phase: .securing)
    }
}
