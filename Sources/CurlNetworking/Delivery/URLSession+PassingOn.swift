import Foundation

extension URLSession {
    /// Asks `question` on the delegate queue as the next message about `task`, which waits for its turn like all others.
    func passOn(about task: URLSessionTask, _ question: @escaping @Sendable () -> Void) {
        // A program's mock has no engine.
        guard let engine = task.engine else { return core.deliveryQueue.addOperation(question) }
        engine.passOn(question)
    }
}
