import Foundation
import CurlNetworkingLocks

/// A challenge on its way to a delegate, and the way back for the answer. Only the first answer counts. Any thread.
struct ChallengeQuestion: Sendable {
    let challenge: URLAuthenticationChallenge
    /// To be put to the session's delegate rather than the task's.
    let isOfConnection: Bool
    let sender: ChallengeSender
}

/// A delegate's answer to a challenge.
struct ChallengeAnswer: Sendable {
    var disposition: URLSession.AuthChallengeDisposition
    var credential: URLCredential?
    /// Who gave it; no delegate if none implements a method for challenges and it is the default.
    var answerer = ChallengeAnswerers.Answerer.session
}

/// Takes a delegate's answer: from the completion handler or, in the older style, as the challenge's `sender`.
final class ChallengeSender: NSObject, URLAuthenticationChallengeSender, Sendable {
    private let state: Mutex<State>

    private struct State {
        /// nil once the question is answered or withdrawn.
        var handler: (@Sendable (ChallengeAnswer) -> Void)?
        /// Asks the task's method, if the session's delegate turns out to have none. Retains the session, so it is dropped with the handler.
        var alternative: (@Sendable () -> Void)?
        /// Who is being asked, as far as known.
        var asked = ChallengeAnswerers.Answerer.session

        mutating func end() -> State {
            defer { (handler, alternative) = (nil, nil) }
            return self
        }
    }

    init(_ handler: @escaping @Sendable (ChallengeAnswer) -> Void) {
        state = Mutex(State(handler: handler))
    }

    func answer(_ disposition: URLSession.AuthChallengeDisposition, _ credential: URLCredential?) {
        // What it held is released without the lock.
        let state = state.withLock { $0.end() }
        // The answer came through the challenge's sender after all, not from the delegate's method.
        let answerer = state.asked == .neither && disposition != .performDefaultHandling ? .task : state.asked
        state.handler?(ChallengeAnswer(disposition: disposition, credential: credential, answerer: answerer))
    }

    /// No delegate implements a method: the default handling that follows isn't a delegate's answer.
    func noteMissingMethods() {
        noteAsking(.neither)
    }

    /// `answerer` is being asked now.
    func noteAsking(_ answerer: ChallengeAnswerers.Answerer) {
        state.withLock { $0.asked = answerer }
    }

    /// The question is withdrawn: later answers are ignored.
    func withdraw() {
        let dropped = state.withLock { $0.end() }
        withExtendedLifetime(dropped) {}
    }

    var isWithdrawn: Bool { state.withLock { $0.handler == nil } }

    /// What to do if the session's delegate declines.
    func setAlternative(_ alternative: @escaping @Sendable () -> Void) {
        state.withLock { $0.alternative = alternative }
    }

    /// The session's delegate doesn't implement its method. False if there is no one else to ask, or they were asked already.
    func sessionDelegateDeclines() -> Bool {
        guard let alternative = state.withLock({ $0.alternative.take() }) else { return false }
        alternative()
        return true
    }

    // MARK: - URLAuthenticationChallengeSender

    func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge) {
        answer(.useCredential, credential)
    }

    func continueWithoutCredential(for challenge: URLAuthenticationChallenge) {
        answer(.useCredential, nil)
    }

    func cancel(_ challenge: URLAuthenticationChallenge) {
        answer(.cancelAuthenticationChallenge, nil)
    }

    func performDefaultHandling(for challenge: URLAuthenticationChallenge) {
        answer(.performDefaultHandling, nil)
    }

    func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge) {
        answer(.rejectProtectionSpace, nil)
    }
}

extension ChallengeAnswer {
    /// Tells the sender that made `challenge`.
    func pass(to challenge: URLAuthenticationChallenge) {
        guard let sender = challenge.sender else { return }
        switch disposition {
        case .useCredential:
            if let credential {
                sender.use(credential, for: challenge)
            } else {
                sender.continueWithoutCredential(for: challenge)
            }
        case .performDefaultHandling: sender.performDefaultHandling(for: challenge)
        case .cancelAuthenticationChallenge: sender.cancel(challenge)
        case .rejectProtectionSpace: sender.rejectProtectionSpaceAndContinue(with: challenge)
        }
    }
}

extension ChallengeQuestion {
    /// For a challenge from a program's own protocol class.
    init(reported challenge: URLAuthenticationChallenge, sender: ChallengeSender) {
        let method = challenge.protectionSpace.authenticationMethod
        self.init(challenge: challenge, isOfConnection: Self.connectionMethods.contains(method), sender: sender)
    }

    /// The stock module lacks constants for the last two.
    private static let connectionMethods: Set<String> = [
        NSURLAuthenticationMethodNTLM, NSURLAuthenticationMethodNegotiate, "NSURLAuthenticationMethodServerTrust",
        "NSURLAuthenticationMethodClientCertificate",
    ]

    /// Asks with Apple's precedence: a connection's challenge goes to the session's delegate, and to the task's if the session's doesn't
    /// implement the method; all others go to the task's. On the delegate queue.
    func put(about task: URLSessionTask, in session: URLSession, to delegates: DelegateSet) {
        let sender = sender
        guard !sender.isWithdrawn else { return }
        guard isOfConnection, let delegate = session.core.delegates.session else {
            return putToTask(task, in: session, delegates)
        }
        sender.setAlternative {
            session.core.deliveryQueue.addOperation {
                // A connection may outlive the task.
                if task.state == .completed { return sender.answer(.performDefaultHandling, nil) }
                putToTask(task, in: session, delegates)
            }
        }
        delegate.urlSession(session, didReceive: challenge) { sender.answer($0, $1) }
    }

    private func putToTask(_ task: URLSessionTask, in session: URLSession, _ delegates: DelegateSet) {
        let sender = sender
        guard let delegate = delegates.task else {
            sender.noteMissingMethods()
            return sender.answer(.performDefaultHandling, nil)
        }
        sender.noteAsking(delegate === session.core.delegates.session ? .session : .task)
        delegate.urlSession(session, task: task, didReceive: challenge) { sender.answer($0, $1) }
    }
}
