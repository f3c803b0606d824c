import Foundation
import CurlNetworkingLocks

/// Has messages for a delegate or handler.
protocol Deliverable: AnyObject, Sendable {
    /// Delivers one message; true when there are more. Delegate queue.
    func deliverNext(about task: URLSessionTask) -> Bool
}

/// Delivers messages on the delegate queue. Each message to a delegate is an operation of its own, so operations that the program adds
/// to the queue, or to its underlying queue, from within one message run before the next. Any thread.
///
/// On a queue that runs one operation at a time, an operation is added when the one before it has run: so there is at most one in the
/// queue, and the tasks take turns. Handlers that wait when an operation begins share it, since nothing that the first of them
/// adds could have come before the others. On a concurrent queue each task has its own operations, one at a time, so that a handler that
/// blocks holds up no other task.
final class DeliveryQueue: Sendable {
    let operations: OperationQueue
    private let ready = Mutex(DeliveryLine<Delivery>())

    /// A task with messages in its mailbox, which schedules only one delivery at a time.
    struct Delivery: Sendable {
        let recipient: any Deliverable
        let task: URLSessionTask
        /// The task has a handler, and no delegate gets messages about it.
        let isForHandler: Bool

        /// Delivers one message; true when there are more.
        func run() -> Bool {
            recipient.deliverNext(about: task)
        }
    }

    init(_ operations: OperationQueue) {
        self.operations = operations
    }

    func add(_ deliveries: [Delivery]) {
        guard operations.maxConcurrentOperationCount == 1 else {
            for delivery in deliveries { addOperation { self.run(delivery) } }
            return
        }
        if ready.withLock({ $0.add(deliveries) }) { addOperation(runNext) }
    }

    /// Calls `body` on the queue.
    func addOperation(_ body: @escaping @Sendable () -> Void) {
        operations.addOperation(DeliveryOperation(body))
    }

    /// One operation of a concurrent queue.
    private func run(_ delivery: Delivery) {
        if delivery.run() { addOperation { self.run(delivery) } }
    }

    /// One operation of a serial queue.
    private func runNext() {
        let batch = ready.withLock { $0.next(sharing: \.isForHandler) }
        for (index, delivery) in batch.enumerated() {
            // A handler may have suspended the queue.
            guard index == 0 || !operations.isSuspended else {
                ready.withLock { $0.putBack(batch[index...]) }
                break
            }
            if delivery.run() { ready.withLock { $0.append(delivery) } }
        }
        if ready.withLock({ $0.goesOn() }) { addOperation(runNext) }
    }
}

/// An operation that can't be cancelled: the program may cancel all operations of its queue, but every task has to complete.
private final class DeliveryOperation: Operation, @unchecked Sendable {
    // @unchecked: never changes.
    private let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) {
        self.body = body
    }

    override func main() {
        body()
    }

    override func cancel() {}
}
