import Foundation
import CurlNetworkingLocks

/// Calls the async form of a delegate's method, and finds out whether the delegate implements it: the default implementation reports
/// itself. A type without it is remembered, so asking again costs one look-up.
enum AsyncForm {
    private final class Probe: Sendable {
        let delegate: ObjectIdentifier
        let question: MissingMethods.Method
        let isMissing = Mutex(false)

        init(_ delegate: AnyObject, _ question: MissingMethods.Method) {
            self.delegate = ObjectIdentifier(delegate)
            self.question = question
        }
    }

    @TaskLocal private static var probe: Probe?

    /// `then` is called with nil if the delegate has no async form: at once if that is known.
    static func ask<Delegate: URLSessionDelegate, Answer>(
        _ delegate: Delegate,
        _ question: MissingMethods.Method,
        _ method: @escaping @Sendable (Delegate) async -> Answer,
        then: @escaping @Sendable (Answer?) -> Void
    ) {
        guard !MissingMethods.contains(question, of: delegate) else { return then(nil) }
        Task {
            let probe = Probe(delegate, question)
            let answer = await $probe.withValue(probe) { await method(delegate) }
            guard probe.isMissing.withLock({ $0 }) else { return then(answer) }
            MissingMethods.note(question, of: delegate)
            then(nil)
        }
    }

    /// Asks `delegate` in its async form. If it has none and is the task's own delegate, the session's is asked by `passingOn`, on the
    /// delegate queue. If that can't be asked either, the answer is `fallback`.
    ///
    /// A question about a completed task isn't passed on, and stays without an answer, unless `passesOnWhenCompleted`.
    ///
    /// - Parameter next: The session's delegate, if it conforms to the protocol that has the method.
    static func ask<Delegate: URLSessionTaskDelegate, Next: Sendable, Answer>(
        _ delegate: Delegate,
        _ question: MissingMethods.Method,
        about task: URLSessionTask,
        in session: URLSession,
        next: @escaping @Sendable (DelegateSet) -> Next?,
        passesOnWhenCompleted: Bool = false,
        default fallback: @escaping @autoclosure @Sendable () -> Answer,
        _ answer: @escaping @Sendable (Answer) -> Void,
        method: @escaping @Sendable (Delegate) async -> Answer,
        passingOn: @escaping @Sendable (Next) -> Void
    ) {
        // Found now: a task that completes while its own delegate is asked releases that.
        let next = delegate.next(session, task).flatMap(next)
        ask(delegate, question, method) { own in
            if let own { return answer(own) }
            guard let next else { return answer(fallback()) }
            session.passOn(about: task) {
                if passesOnWhenCompleted || task.state != .completed { passingOn(next) }
            }
        }
    }

    /// Called by the default implementation of the async form of `question`. A delegate that calls another one's async form, or that of
    /// another of its own methods, gets the default answer there.
    static func isMissing(_ question: MissingMethods.Method, in delegate: AnyObject) {
        guard let probe, probe.delegate == ObjectIdentifier(delegate), probe.question == question else { return }
        probe.isMissing.withLock { $0 = true }
    }
}
