import Foundation
import Locks

/// Calls the async form of a delegate's method, and finds out whether there is one: the default of that form reports itself. What a type
/// lacks is remembered, so that asking costs a look-up from then on.
enum AsyncForm {
    /// What a delegate can be asked in two forms.
    enum Question: Hashable, Sendable {
        case sessionChallenge, challenge, redirect, response, caching, bodyStream, bodyStreamFromOffset, delayedRequest
    }

    private struct Form: Hashable {
        let type: ObjectIdentifier
        let question: Question

        init(of question: Question, in delegate: AnyObject) {
            type = ObjectIdentifier(Swift.type(of: delegate))
            self.question = question
        }
    }

    private final class Probe: Sendable {
        let delegate: ObjectIdentifier
        let isMissing = Mutex(false)

        init(_ delegate: AnyObject) {
            self.delegate = ObjectIdentifier(delegate)
        }
    }

    @TaskLocal private static var probe: Probe?

    /// At most as many as the program has delegate types, times the questions.
    private static let missing = Mutex<Set<Form>>([])

    /// `then` gets nil where the delegate has no async form: at once where that is known.
    static func ask<Delegate: URLSessionDelegate, Answer>(
        _ delegate: Delegate,
        _ question: Question,
        _ method: @escaping @Sendable (Delegate) async -> Answer,
        then: @escaping @Sendable (Answer?) -> Void
    ) {
        let form = Form(of: question, in: delegate)
        guard !missing.withLock({ $0.contains(form) }) else { return then(nil) }
        Task {
            let probe = Probe(delegate)
            let answer = await $probe.withValue(probe) { await method(delegate) }
            guard probe.isMissing.withLock({ $0 }) else { return then(answer) }
            missing.withLock { _ = $0.insert(form) }
            then(nil)
        }
    }

    /// Called by the defaults. A delegate that asks another one's async form gets that one's default answer.
    static func isMissing(in delegate: AnyObject) {
        guard let probe, probe.delegate == ObjectIdentifier(delegate) else { return }
        probe.isMissing.withLock { $0 = true }
    }
}

extension URLSessionDelegate {
    /// Calls `ask` with the session's delegate, where this object is the task's own: on the delegate queue, and not once the task is
    /// over. Else with nil, at once.
    func passOn<Next: Sendable>(
        about task: URLSessionTask,
        in session: URLSession,
        to select: (DelegateSet) -> Next?,
        _ ask: @escaping @Sendable (Next?) -> Void
    ) {
        guard let next = next(session, task).flatMap(select) else { return ask(nil) }
        session.core.deliveryQueue.addOperation {
            if task.state != .completed { ask(next) }
        }
    }
}
