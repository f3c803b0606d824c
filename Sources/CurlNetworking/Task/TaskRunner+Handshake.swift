import Curl
import Foundation

// TLS handshakes that a delegate has a say in: they stop before anything of the request is sent, the delegate is asked, and another
// connection goes by its answer. Everything on the loop.

extension TaskRunner {
    /// A handshake that has stopped, and waits for its answer without a connection and without a place at its host.
    /// `@unchecked Sendable`: a question carries it as its name; the scope is touched on the loop alone.
    final class HandshakeTalk: @unchecked Sendable {
        let subject: HandshakeDesk.Subject
        let url: URL?
        /// Where the question is asked, and others may wait for the answer.
        let scope: HandshakeScope

        init(_ subject: HandshakeDesk.Subject, _ url: URL?, in scope: HandshakeScope) {
            self.subject = subject
            self.url = url
            self.scope = scope
        }
    }

    // MARK: - Before the exchange

    /// Has `options` stop the handshake where a delegate wants to be asked, and show what was decided. Without a delegate, nothing.
    func prepareHandshake(_ options: inout TransferOptions, with origin: Origin) {
        guard origin.isSecure, !origin.isUnixSocket, CurlLibrary.decidesTrust,
            !session.settings.tls.trustsAnyCertificate(origin, session.settings.hosts), let decider = handshakeDecider
        else { return }
        let desk = lane.handshakes.existing(of: decider)?.desk
        var decisions = desk?.decisions(for: origin) ?? HandshakeDecisions()
        if session.settings.tls.hasIdentity(origin, session.settings.hosts) { decisions.hasDecidedOnCertificate = true }
        options.inquiry = HandshakeInquiry(
            host: origin.host,
            decisions: decisions,
            certificate: desk?.identity(for: origin)
        )
    }

    /// The connections that a transfer with `options` may use.
    func multi(for options: TransferOptions) throws(TransferFailure) -> Multi {
        guard options.inquiry != nil, let decider = handshakeDecider else { return try lane.currentMulti() }
        return try lane.multi(for: decider)
    }

    private var delegatesForHandshake: (session: (any URLSessionDelegate)?, own: (any URLSessionDelegate)?) {
        let own = shared.withLock { $0.delegates.session }
        let sessions = session.delegates.session
        return (sessions, own === sessions ? nil : own)
    }

    private var habits: ChallengeHabits.Pair {
        let delegates = delegatesForHandshake
        return ChallengeHabits.Pair(session: delegates.session, task: delegates.own)
    }

    /// nil where there is nobody to ask. As long as it isn't known who of two delegates answers, the task's own may be the one.
    private var handshakeDecider: HandshakeDecider? {
        let delegates = delegatesForHandshake
        guard delegates.session != nil || delegates.own != nil else { return nil }
        switch (ChallengeHabits.answerer(of: habits), delegates.own) {
        case (.nobody, _): return nil
        case (.session, _), (_, nil): return .session
        case (.task, let own?), (nil, let own?): return .task(own)
        }
    }

    // MARK: - After the exchange

    /// Whether the exchange has failed since its handshake was stopped: then somebody is asked, and the task goes on later.
    func asksAboutHandshake(after exchange: Exchange, _ error: URLError) -> Bool {
        guard let origin = loading.ticket?.origin else { return false }
        guard let question = exchange.handshakeQuestion else {
            if error.code == .clientCertificateRejected, let decider = handshakeDecider {
                lane.handshakes.existing(of: decider)?.desk.forgetIdentity(for: origin)
            }
            return false
        }
        do throws(URLError) {
            try loading.budget.spendHandshake(at: exchange.request.url)
        } catch {
            finish(.failure(error))
            return true
        }
        let subject = HandshakeDesk.Subject(origin: origin, question: question)
        let scope = handshakeDecider.map { lane.handshakes.scope(of: $0) }
        // Another task may have had its answer while this one shook hands.
        let open = scope.flatMap {
            $0.desk.hasDecided(subject) ? nil : HandshakeTalk(subject, exchange.request.url, in: $0)
        }
        loading.handshake = open
        forgetAttempt()
        rearmDeadline()
        runOnLoop()
        if let open, loading.handshake === open, open.scope.desk.enter(self, about: subject) { ask(open) }
        return true
    }

    private func ask(_ talk: HandshakeTalk) {
        let origin = talk.subject.origin
        let space: HandshakeSpace
        switch talk.subject.question {
        case .serverTrust(let chain, let result, let reason):
            let trust = ServerTrust(host: origin.host, chain: chain, verification: result, reason: reason)
            space = HandshakeSpace(trust, at: origin)
        case .clientCertificate(let authorities):
            space = HandshakeSpace(authorities: authorities.map { Data($0) }, at: origin)
        }
        let sender = ChallengeSender { [weak self] answer in
            guard let self else { return }
            submit { self.handshakeAnswered(talk, answer) }
        }
        let challenge = URLAuthenticationChallenge(
            protectionSpace: space,
            proposedCredential: nil,
            previousFailureCount: 0,
            failureResponse: nil,
            error: nil,
            sender: sender
        )
        post(.challenge(ChallengeQuestion(challenge: challenge, isOfConnection: true, sender: sender)))
    }

    // MARK: - The answer

    private func handshakeAnswered(_ talk: HandshakeTalk, _ answer: ChallengeAnswer) {
        guard loading.handshake === talk else { return }
        ChallengeHabits.note(answer.answerer, of: habits)
        // The decision is whose it turned out to be.
        let desk = handshakeDecider.map { lane.handshakes.scope(of: $0).desk }
        if answer.disposition == .cancelAuthenticationChallenge {
            return finish(.failure(.cancelled(talk.url).with(phase: .securing)))
        }
        let origin = talk.subject.origin
        switch talk.subject.question {
        case .clientCertificate:
            let identity = answer.disposition == .useCredential ? answer.credential?.identity : nil
            // Nobody's answer leaves no trace: without an inquiry, nothing stops the handshake.
            desk?.show(identity?.certificate, to: origin)
        case .serverTrust(let chain, let result, let reason):
            let accepted = answer.disposition == .useCredential ? answer.credential?.trust : nil
            let trust = ServerTrust(host: origin.host, chain: chain, verification: result, reason: reason)
            if answer.disposition == .rejectProtectionSpace {
                let description = "The delegate rejected the server's certificate."
                let error = URLError(.serverCertificateUntrusted, talk.url, description)
                return finish(.failure(error.with(phase: .securing).with(peerTrust: trust)))
            } else if let accepted, accepted.host == origin.host, accepted.certificates == chain.map({ Data($0) }) {
                desk?.accept(chain, of: origin, hasProblem: result != 0)
            } else if result != 0 {
                return finish(.failure(URLError(.untrusted(result, reason), url: talk.url).with(peerTrust: trust)))
            } else {
                desk?.verify(chain, of: origin)
            }
        }
        leaveHandshake()
        proceed()
    }

    /// Another task's question, the same as this one's, was answered: perhaps for both.
    func handshakeSettledElsewhere() {
        loading.handshake = nil
        proceed()
    }

    /// The task waits for no answer any more.
    func leaveHandshake() {
        guard let talk = loading.handshake.take() else { return }
        talk.scope.desk.leave(self, about: talk.subject)
    }
}

extension ServerTrust {
    fileprivate init(host: String, chain: [[UInt8]], verification: Int, reason: String) {
        self.init(
            host: host,
            certificates: chain.map { Data($0) },
            problem: CertificateProblem(verification: verification),
            reason: reason
        )
    }
}

extension TransferFailure {
    /// What libcurl would have said of a certificate that verification turned down.
    fileprivate static func untrusted(_ result: Int, _ reason: String) -> TransferFailure {
        let text = "SSL certificate problem: \(reason)"
        var failure = TransferFailure(code: CurlCode(rawValue: 60), text: text, phase: .securing)
        failure.verification = result
        return failure
    }
}
