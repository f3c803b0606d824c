import Foundation
import CurlNetworkingLocks

/// A challenge on its way to a delegate, and the way back for the answer. Only the first answer counts. Any thread.
struct ChallengeQuestion: Sendable {
    /// Which method is called first, and which one if no delegate has that.
    enum Order: Sendable {
        case task
        case taskThenSession
        case sessionThenTask
    }

    private let makeChallenge: @Sendable () -> URLAuthenticationChallenge
    let order: Order
    let sender: ChallengeSender

    /// - Parameter challenge: Made when a delegate is asked, off the event loop: the response in it may take long to make.
    init(
        challenge: @autoclosure @escaping @Sendable () -> URLAuthenticationChallenge,
        order: Order,
        sender: ChallengeSender
    ) {
        (makeChallenge, self.order, self.sender) = (challenge, order, sender)
    }

    var challenge: URLAuthenticationChallenge { makeChallenge() }
}

/// A delegate's answer to a challenge.
struct ChallengeAnswer: Sendable {
    var disposition: URLSession.AuthChallengeDisposition
    var credential: URLCredential?
    /// The delegate that gave it; none if none implements a method for challenges and it is the default.
    var answerer = ChallengeAnswerers.Answerer.session
}

/// Takes a delegate's answer: from the completion handler or, in the older style, as the challenge's `sender`.
final class ChallengeSender: NSObject, URLAuthenticationChallengeSender, Sendable {
    /// Delegates have one method for challenges of the session, and one for those of a task.
    enum Method: Sendable {
        case session, task
    }

    private let state: Mutex<State>

    private struct State {
        /// nil once the question is answered or withdrawn.
        var handler: (@Sendable (ChallengeAnswer) -> Void)?
        /// Calls the other method, if it turns out that no delegate has this one. Retains the session, so it is dropped with the handler.
        var alternative: (method: Method, call: @Sendable () -> Void)?
        /// The delegate being asked, as far as known.
        var asked = ChallengeAnswerers.Answerer.session

        mutating func end() -> State {
            defer { (handler, alternative) = (nil, nil) }
            return self
        }

        mutating func takeAlternative(to method: Method) -> (@Sendable () -> Void)? {
            guard let alternative, alternative.method == method else { return nil }
            self.alternative = nil
            return alternative.call
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

    /// No delegate implements the task's method: the default handling that follows isn't a delegate's answer.
    func noteMissingMethods() {
        noteAsking(.neither)
    }

    /// Notes that `answerer` is now being asked.
    func noteAsking(_ answerer: ChallengeAnswerers.Answerer) {
        state.withLock { $0.asked = answerer }
    }

    /// Withdraws the question: later answers are ignored.
    func withdraw() {
        let dropped = state.withLock { $0.end() }
        withExtendedLifetime(dropped) {}
    }

    var isWithdrawn: Bool { state.withLock { $0.handler == nil } }

    /// Sets what to do if no delegate has `method`.
    func setAlternative(to method: Method, _ call: @escaping @Sendable () -> Void) {
        state.withLock { $0.alternative = (method, call) }
    }

    /// No delegate has `method`. Returns false if there is no alternative, or it was already tried.
    func tryAlternative(to method: Method) -> Bool {
        guard let call = state.withLock({ $0.takeAlternative(to: method) }) else { return false }
        call()
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
    /// Passes the answer to the sender of `challenge`.
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
    /// Applies Apple's precedence for requests: a connection's challenge goes to the session's delegate, and to the task's if the session's
    /// doesn't implement the method; all others go to the task's.
    init(
        challenge: @autoclosure @escaping @Sendable () -> URLAuthenticationChallenge,
        isOfConnection: Bool,
        sender: ChallengeSender
    ) {
        self.init(challenge: challenge(), order: isOfConnection ? .sessionThenTask : .task, sender: sender)
    }

    /// For a challenge from a program's own protocol class.
    init(reported challenge: URLAuthenticationChallenge, sender: ChallengeSender) {
        self.init(challenge: challenge, isOfConnection: Self.isOfConnection(challenge), sender: sender)
    }

    static func isOfConnection(_ challenge: URLAuthenticationChallenge) -> Bool {
        connectionMethods.contains(challenge.protectionSpace.authenticationMethod)
    }

    private static let connectionMethods: Set<String> = [
        NSURLAuthenticationMethodNTLM, NSURLAuthenticationMethodNegotiate, NSURLAuthenticationMethodServerTrust,
        NSURLAuthenticationMethodClientCertificate,
    ]

    /// Asks in its `order`. Delegate queue.
    func put(about task: URLSessionTask, in session: URLSession, to delegates: DelegateSet) {
        guard !sender.isWithdrawn else { return }
        switch (order, session.core.delegates.base) {
        case (.task, _), (_, nil):
            putToTask(task, in: session, delegates)
        case (.taskThenSession, let delegate?):
            setAlternative(to: .task, about: task, in: session) { putToSession(session, delegate) }
            putToTask(task, in: session, delegates)
        case (.sessionThenTask, let delegate?):
            setAlternative(to: .session, about: task, in: session) { putToTask(task, in: session, delegates) }
            putToSession(session, delegate)
        }
    }

    /// - Parameter call: Called on the delegate queue.
    private func setAlternative(
        to method: ChallengeSender.Method,
        about task: URLSessionTask,
        in session: URLSession,
        _ call: @escaping @Sendable () -> Void
    ) {
        let sender = sender
        sender.setAlternative(to: method) {
            session.passOn(about: task) {
                // A connection may outlive the task.
                if task.state == .completed { sender.answer(.performDefaultHandling, nil) } else { call() }
            }
        }
    }

    private func putToSession(_ session: URLSession, _ delegate: any URLSessionDelegate) {
        let sender = sender
        sender.noteAsking(.session)
        delegate.urlSession(session, didReceive: challenge) { sender.answer($0, $1) }
    }

    private func putToTask(_ task: URLSessionTask, in session: URLSession, _ delegates: DelegateSet) {
        let sender = sender
        guard let delegate = delegates.task else {
            sender.noteMissingMethods()
            if !sender.tryAlternative(to: .task) { sender.answer(.performDefaultHandling, nil) }
            return
        }
        sender.noteAsking(delegate === session.core.delegates.base ? .session : .task)
        delegate.urlSession(session, task: task, didReceive: challenge) { sender.answer($0, $1) }
    }
}
