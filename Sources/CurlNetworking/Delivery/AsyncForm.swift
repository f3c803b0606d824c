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

    /// Calls `then` with nil if the delegate has no async form: at once if that is known.
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

    /// A question about a task, to its own delegate or the session's.
    struct Question<Delegate: URLSessionTaskDelegate> {
        private let method: MissingMethods.Method
        private let delegate: Delegate
        private let task: URLSessionTask
        private let session: URLSession

        init(_ method: MissingMethods.Method, to delegate: Delegate, about task: URLSessionTask, in session: URLSession)
        {
            (self.method, self.delegate, self.task, self.session) = (method, delegate, task, session)
        }

        /// Asks in the async form. If the delegate has none and is the task's own, the session's is asked by `passingOn`, on the delegate
        /// queue. If that can't be asked either, `then` gets nil.
        ///
        /// About a completed task, only a question that `outlivesTask` is passed on; any other stays unanswered.
        ///
        /// - Parameter next: The session's delegate, if it conforms to the protocol that has the method.
        func ask<Next: Sendable, Answer>(
            orElse next: @escaping @Sendable (DelegateSet) -> Next?,
            _ ask: @escaping @Sendable (Delegate) async -> Answer,
            passingOn: @escaping @Sendable (Next) -> Void,
            then answer: @escaping @Sendable (Answer?) -> Void
        ) {
            // Looked up now: a task that completes while its own delegate is asked releases the delegate.
            let next = delegate.next(session, task).flatMap(next)
            AsyncForm.ask(delegate, method, ask) { [method, task, session] own in
                guard case .none = own, let next else { return answer(own) }
                session.passOn(about: task) {
                    if method.outlivesTask || task.state != .completed { passingOn(next) }
                }
            }
        }
    }

    /// Called by the default implementation of the async form of `question`. A delegate that calls another one's async form, or that of
    /// another of its own methods, gets the default answer there.
    static func reportMissing(_ question: MissingMethods.Method, in delegate: AnyObject) {
        guard let probe, probe.delegate == ObjectIdentifier(delegate), probe.question == question else { return }
        probe.isMissing.withLock { $0 = true }
    }
}
