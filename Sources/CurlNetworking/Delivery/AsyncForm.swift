import Foundation
import CurlNetworkingLocks

/// Calls the form of a delegate's method that the delegate implements. The default implementation of each form calls the other one, and
/// finds out whether that is a default as well: then the delegate has neither. Such a type is remembered, so asking again costs one look-up.
enum AsyncForm {
    private enum Form { case async, handler }

    /// A call that one form's default implementation makes to the other form.
    private final class Probe: Sendable {
        let form: Form
        let isMissing = Mutex(false)
        private let delegate: ObjectIdentifier
        private let question: MissingMethods.Method

        init(_ form: Form, of question: MissingMethods.Method, in delegate: AnyObject) {
            self.form = form
            self.delegate = ObjectIdentifier(delegate)
            self.question = question
        }

        func asks(_ question: MissingMethods.Method, _ delegate: AnyObject) -> Bool {
            self.question == question && self.delegate == ObjectIdentifier(delegate)
        }
    }

    @TaskLocal private static var probe: Probe?

    /// Calls `then` with nil if the delegate has no async form: at once if that is known. Doesn't call it for a question that `answer` has
    /// asked, which answers that itself.
    static func ask<Delegate: URLSessionDelegate, Answer>(
        _ delegate: Delegate,
        _ question: MissingMethods.Method,
        _ method: @escaping @Sendable (Delegate) async -> Answer,
        then: @escaping @Sendable (Answer?) -> Void
    ) {
        if let probe, probe.form == .handler, probe.asks(question, delegate) {
            MissingMethods.note(question, of: delegate)
            return probe.isMissing.withLock { $0 = true }
        }
        guard !MissingMethods.contains(question, of: delegate) else { return then(nil) }
        Task {
            let probe = Probe(.async, of: question, in: delegate)
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

    /// The answer of the default implementation of the async form: that of the other form, or `standard` if there is none. A delegate that
    /// forwards its questions needn't know which form the other object implements.
    static func answer<Delegate: URLSessionDelegate, Answer>(
        _ question: MissingMethods.Method,
        in delegate: Delegate,
        orElse standard: Answer,
        _ handlerForm: (@escaping @Sendable (Answer) -> Void) -> Void
    ) async -> Answer {
        if let probe, probe.asks(question, delegate) {
            if probe.form == .async { probe.isMissing.withLock { $0 = true } }
            return standard
        }
        guard !MissingMethods.contains(question, of: delegate) else { return standard }
        return await withUnsafeContinuation { continuation in
            let first = FirstAnswer<Answer> {
                nonisolated(unsafe) let answer = $0
                continuation.resume(returning: answer)
            }
            let probe = Probe(.handler, of: question, in: delegate)
            $probe.withValue(probe) { handlerForm(first.give) }
            if probe.isMissing.withLock({ $0 }) { first.give(standard) }
        }
    }
}
