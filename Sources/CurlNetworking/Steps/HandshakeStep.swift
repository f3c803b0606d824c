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
        /// Where the question is asked, and where other tasks may wait for the answer.
        let scope: HandshakeScope
        weak var context: (any StepContext)?
        /// nil if another task asks. Retains the session as long as an answer is wanted.
        var sender: ChallengeSender?
        /// The task's delegates at the time of the question; nil once it has others.
        private weak var delegates: DelegateSet?

        init(_ subject: HandshakeCoordinator.Subject, url: URL?, in scope: HandshakeScope, _ context: any StepContext) {
            self.subject = subject
            self.url = url
            self.scope = scope
            self.context = context
            delegates = context.owner.ownDelegates
        }

        /// Whether the task still has the same delegate.
        func isUpToDate(_ context: any StepContext) -> Bool { delegates === context.owner.ownDelegates }
    }

    private var pending: Pending?

    /// Keeps the decisions that the task has asked or waited for, until it ends: otherwise the questions of many other tasks, each with its
    /// own delegate, would displace them before they are used.
    private var hold: HandshakeScope.Hold?

    // MARK: - Before the handshake

    /// While a delegate is being asked about the host, another handshake would only lead to the same question. The request that is to open
    /// the next connection waits for the answer, and the others for that connection, which they can share.
    func complete(_ context: any StepContext) -> CompletionVerdict {
        guard pending == nil else { return .wait }
        guard let ticket = context.ticket, ticket.isOpening, let decider = decider(context),
            let scope = context.pool.handshakes.existing(of: decider),
            let subject = scope.coordinator.pendingSubject(at: ticket.origin)
        else { return .pass }
        let pending = Pending(subject, url: context.request?.url, in: scope, context)
        self.pending = pending
        hold = scope.hold()
        _ = scope.coordinator.enter(self, about: subject)
        return .wait
    }

    /// Stops the handshake if a delegate wants to be asked, and applies earlier decisions.
    func encode(_ plan: TransferPlan, _ context: any StepContext) {
        guard let origin = plan.ticket?.origin, plan.options != nil, origin.isSecure, !origin.isUnixSocket,
            !context.session.settings.tls.trustsAnyCertificate(origin),
            let decider = decider(context)
        else { return }
        let coordinator = context.pool.handshakes.existing(of: decider)?.coordinator
        var decisions = coordinator?.decisions(for: origin) ?? HandshakeDecisions()
        if !decisions.hasDecidedOnCertificate, context.session.settings.tls.hasIdentity(origin) {
            decisions.identity = .configured
        }
        plan.options?.inquiry = HandshakeInquiry(host: origin.hostWithoutZone, decisions: decisions)
        plan.decider = decider
    }

    private func askedDelegates(_ context: any StepContext) -> AskedDelegates {
        AskedDelegates(of: context.owner.ownDelegates, context.session.delegates)
    }

    /// nil if there is no delegate to ask.
    private func decider(_ context: any StepContext) -> HandshakeDecider? { HandshakeDecider(askedDelegates(context)) }

    /// The scope of the decider's decisions; nil if there is no decider.
    private func scope(_ context: any StepContext) -> HandshakeScope? {
        decider(context).map { context.pool.handshakes.scope(of: $0) }
    }

    // MARK: - The question

    func end(_ ending: TransferEnding, of request: URLRequest, _ context: any StepContext) -> EndVerdict {
        guard let error = ending.error, let origin = context.ticket?.origin else { return .pass }
        guard let question = ending.handshakeQuestion else {
            if error.code == .clientCertificateRejected, let decider = decider(context) {
                context.pool.handshakes.existing(of: decider)?.coordinator.forgetIdentity(for: origin)
            }
            return .pass
        }
        do throws(URLError) {
            try context.budget.spendHandshake(at: request.url)
        } catch {
            return .fail(error)
        }
        let subject = HandshakeCoordinator.Subject(origin: origin, question: question)
        guard let scope = scope(context) else { return .again }
        hold = scope.hold()
        // Another task may have got its answer during this one's handshake.
        guard !scope.coordinator.hasDecided(subject) else { return .again }
        let pending = Pending(subject, url: request.url, in: scope, context)
        self.pending = pending
        if scope.coordinator.enter(self, about: subject) { ask(pending, context) }
        return .wait
    }

    private func ask(_ pending: Pending, _ context: any StepContext) {
        let subject = pending.subject
        let sender = ChallengeSender { [weak self, weak context] answer in
            guard let self, let context else { return }
            context.owner.submit { self.answered(pending, answer, context) }
        }
        pending.sender = sender
        context.owner.ask(.challenge(ChallengeQuestion(subject.question, at: subject.origin, sender: sender)))
    }

    // MARK: - The answer

    private func answered(_ pending: Pending, _ answer: ChallengeAnswer, _ context: any StepContext) {
        guard self.pending === pending else { return }
        // The program has given the task another delegate meanwhile: the delegate that decides now is asked.
        guard pending.isUpToDate(context) else {
            leaveQueue()
            return context.proceed(self)
        }
        ChallengeAnswerers.note(answer.answerer, of: askedDelegates(context).types)
        // The decision belongs to the delegate that turned out to answer. If no delegate does, nothing is recorded: unless one is asked,
        // nothing stops the handshake.
        let scope = scope(context)
        hold = scope?.hold()
        let (origin, question) = (pending.subject.origin, pending.subject.question)
        do throws(URLError) {
            let decision = try question.decision(by: answer, at: origin, url: pending.url)
            if let scope { context.pool.note(decision, about: origin, in: scope) }
        } catch {
            return context.fail(error)
        }
        leaveQueue()
        context.proceed(self)
    }

    /// Another task's question, identical to this one's, was answered: perhaps for both.
    func questionSettledElsewhere() {
        guard let pending = pending.take() else { return }
        pending.sender?.withdraw()
        pending.context?.proceed(self)
    }

    func stop(_ context: any StepContext) {
        leaveQueue()
        hold = nil
    }

    private func leaveQueue() {
        guard let pending = pending.take() else { return }
        pending.sender?.withdraw()
        pending.scope.coordinator.leave(self, about: pending.subject)
    }
}
