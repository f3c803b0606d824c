import Foundation
import CurlNetworkingLocks

/// A source of messages for a delegate or handler.
protocol Deliverable: AnyObject, Sendable {
    /// Delivers one message; returns true if there are more. Delegate queue.
    func deliverNext(about task: URLSessionTask) -> Bool
}

/// Delivers messages on the delegate queue, each to a delegate as if in a separate operation: what the program adds to the queue, or to its
/// underlying queue, during one message runs before the next. Any thread.
///
/// On a serial queue, an operation is added when the previous one has run: so there is at most one in the queue, and the tasks take turns.
/// Handlers waiting when an operation begins share it, since nothing that the first of them adds could have run before the others. So do
/// messages to delegates, one per task, until the program has added something. On a concurrent queue, each task has its own operations, one
/// at a time, so that a blocking handler delays no other task.
final class DeliveryQueue: Sendable {
    private let keptOperations: ReleasedOffLoop<OperationQueue>
    private let ready = Mutex(DeliveryLine<Delivery>())

    /// A task with messages in its mailbox, which schedules only one delivery at a time.
    struct Delivery: Sendable {
        let recipient: any Deliverable
        let task: URLSessionTask
        /// Whether the task has a handler, so that no delegate gets messages about it.
        let isForHandler: Bool

        /// Delivers one message; returns true if there are more.
        func run() -> Bool {
            recipient.deliverNext(about: task)
        }
    }

    init(_ operations: OperationQueue) {
        keptOperations = ReleasedOffLoop(operations)
    }

    var operations: OperationQueue { keptOperations.value }

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

    /// The body of an operation on a concurrent queue.
    private func run(_ delivery: Delivery) {
        if delivery.run() { addOperation { self.run(delivery) } }
    }

    /// The body of an operation on a serial queue.
    private func runNext() {
        let showsAdditions = showsAdditions
        let batch = ready.withLock {
            $0.next { $0.isForHandler ? $1.isForHandler : showsAdditions && !$1.isForHandler }
        }
        for (index, delivery) in batch.enumerated() {
            guard index == 0 || goesOn(with: delivery) else {
                ready.withLock { $0.putBack(batch[index...]) }
                break
            }
            if delivery.run() { ready.withLock { $0.append(delivery) } }
        }
        if ready.withLock({ $0.endTurn() }) { addOperation(runNext) }
    }

    /// Whether the running operation may deliver another message: the last one may have suspended the queue, or added to it an operation to
    /// run before the delegate's next message.
    private func goesOn(with delivery: Delivery) -> Bool {
        !operations.isSuspended && (delivery.isForHandler || operations.operationCount == 1)
    }

    /// Whether all that the program can add to the queue, except barriers, shows in its count of operations. Additions to an underlying
    /// queue don't.
    private var showsAdditions: Bool { operations.underlyingQueue == nil }
}

/// An operation that can't be cancelled: the program may cancel all operations of its queue, but every task must complete.
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
