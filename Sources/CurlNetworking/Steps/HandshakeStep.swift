import CurlTransport
import Foundation

/// TLS handshakes on which a delegate decides: they stop before anything of the request is sent, the delegate is asked, and another
/// connection follows its answer.
///
/// `@unchecked Sendable`: used on the loop only.
final class HandshakeStep: Step, HandshakeWaiter, @unchecked Sendable {
    /// A stopped handshake that waits for its answer, holding neither a connection nor a place at its host.
    private final class Pending: @unchecked Sendable {
        // @unchecked: a question carries it for identification; it is touched on the loop alone.
        let subject: HandshakeCoordinator.Subject
        let url: URL?
        /// Where the question is asked, and others may wait for the answer.
        let scope: HandshakeScope
        weak var host: (any StepHost)?
        /// nil if another task asks. Keeps the session as long as an answer is wanted.
        var sender: ChallengeSender?
        /// The task's delegates at the time of the question, as long as they are that.
        private weak var delegates: DelegateSet?

        init(_ subject: HandshakeCoordinator.Subject, _ url: URL?, in scope: HandshakeScope, _ host: any StepHost) {
            self.subject = subject
            self.url = url
            self.scope = scope
            self.host = host
            delegates = host.owner.ownDelegates
        }

        /// Whether the task has the same delegate still.
        func isUpToDate(_ host: any StepHost) -> Bool { delegates === host.owner.ownDelegates }
    }

    private var pending: Pending?

    /// Keeps the decisions that the task has asked or waited for, until it ends: otherwise the questions of many other
    /// tasks, each with a delegate of its own, would displace them before they are used.
    private var hold: HandshakeScope.Hold?

    // MARK: - Before the handshake

    /// While a delegate is being asked about the host, another handshake would only lead to the same question. The request that is to open the
    /// next connection waits for the answer, and the others for that connection, which they can share.
    func complete(_ host: any StepHost) -> CompletionVerdict {
        guard pending == nil else { return .wait }
        guard let ticket = host.ticket, ticket.isOpening, let decider = decider(host),
            let scope = host.pool.handshakes.existing(of: decider),
            let subject = scope.coordinator.pendingSubject(at: ticket.origin)
        else { return .pass }
        let pending = Pending(subject, host.request?.url, in: scope, host)
        self.pending = pending
        hold = scope.hold()
        _ = scope.coordinator.enter(self, about: subject)
        return .wait
    }

    /// Stops the handshake if a delegate wants to be asked, and applies earlier decisions.
    func encode(_ plan: TransferPlan, _ host: any StepHost) {
        guard let origin = plan.ticket?.origin, plan.options != nil, origin.isSecure, !origin.isUnixSocket,
            !host.session.settings.tls.trustsAnyCertificate(origin, host.session.settings.hosts),
            let decider = decider(host)
        else { return }
        let coordinator = host.pool.handshakes.existing(of: decider)?.coordinator
        var decisions = coordinator?.decisions(for: origin) ?? HandshakeDecisions()
        if !decisions.hasDecidedOnCertificate,
            host.session.settings.tls.hasIdentity(origin, host.session.settings.hosts)
        {
            decisions.identity = .configured
        }
        plan.options?.inquiry = HandshakeInquiry(host: origin.hostWithoutZone, decisions: decisions)
        plan.decider = decider
    }

    private func askedDelegates(_ host: any StepHost) -> AskedDelegates {
        AskedDelegates(of: host.owner.ownDelegates, host.session.delegates)
    }

    /// nil if there is no delegate to ask.
    private func decider(_ host: any StepHost) -> HandshakeDecider? { HandshakeDecider(askedDelegates(host)) }

    /// Where the decider's decisions are; nil if there is none.
    private func scope(_ host: any StepHost) -> HandshakeScope? {
        decider(host).map { host.pool.handshakes.scope(of: $0) }
    }

    // MARK: - The question

    func end(_ ending: TransferEnding, of request: URLRequest, _ host: any StepHost) -> EndVerdict {
        guard let error = ending.error, let origin = host.ticket?.origin else { return .pass }
        guard let question = ending.handshakeQuestion else {
            if error.code == .clientCertificateRejected, let decider = decider(host) {
                host.pool.handshakes.existing(of: decider)?.coordinator.forgetIdentity(for: origin)
            }
            return .pass
        }
        do throws(URLError) {
            try host.budget.spendHandshake(at: request.url)
        } catch {
            return .fail(error)
        }
        let subject = HandshakeCoordinator.Subject(origin: origin, question: question)
        guard let scope = scope(host) else { return .again }
        hold = scope.hold()
        // Another task may have got its answer during this one's handshake.
        guard !scope.coordinator.hasDecided(subject) else { return .again }
        let pending = Pending(subject, request.url, in: scope, host)
        self.pending = pending
        if scope.coordinator.enter(self, about: subject) { ask(pending, host) }
        return .wait
    }

    private func ask(_ pending: Pending, _ host: any StepHost) {
        let subject = pending.subject
        let sender = ChallengeSender { [weak self, weak host] answer in
            guard let self, let host else { return }
            host.owner.submit { self.answered(pending, answer, host) }
        }
        pending.sender = sender
        host.owner.ask(.challenge(ChallengeQuestion(subject.question, at: subject.origin, sender: sender)))
    }

    // MARK: - The answer

    private func answered(_ pending: Pending, _ answer: ChallengeAnswer, _ host: any StepHost) {
        guard self.pending === pending else { return }
        // The program has given the task another delegate meanwhile: whoever decides now is asked.
        guard pending.isUpToDate(host) else {
            leaveQueue()
            return host.proceed(self)
        }
        ChallengeAnswerers.note(answer.answerer, of: askedDelegates(host).types)
        // The decision belongs to the delegate that turned out to answer. If no delegate does, nothing is recorded: without an inquiry, nothing stops the
        // handshake.
        let scope = scope(host)
        hold = scope?.hold()
        let (origin, question) = (pending.subject.origin, pending.subject.question)
        do throws(URLError) {
            let decision = try question.decision(by: answer, at: origin, url: pending.url)
            if let scope { host.pool.note(decision, about: origin, in: scope) }
        } catch {
            return host.fail(error)
        }
        leaveQueue()
        host.proceed(self)
    }

    /// Another task's question, identical to this one's, was answered: perhaps for both.
    func questionSettledElsewhere() {
        guard let pending = pending.take() else { return }
        pending.sender?.withdraw()
        pending.host?.proceed(self)
    }

    func stop(_ host: any StepHost) {
        leaveQueue()
        hold = nil
    }

    private func leaveQueue() {
        guard let pending = pending.take() else { return }
        pending.sender?.withdraw()
        pending.scope.coordinator.leave(self, about: pending.subject)
    }
}
