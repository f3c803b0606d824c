import Foundation

extension URLSession {
    /// Has the delegate queue ask `question` as the next message about `task`, which waits for its turn as all others do.
    func passOn(about task: URLSessionTask, _ question: @escaping @Sendable () -> Void) {
        // A program's mock has no engine.
        guard let engine = task.engine else { return core.deliveryQueue.addOperation(question) }
        engine.passOn(question)
    }
}
