import Foundation
import Locks

/// The road to the delegate queue: one operation for however many tasks have something to tell.
///
/// On a queue that runs one operation at a time they share an operation, in the order they came; on a concurrent queue each
/// has its own, so that a handler that blocks holds up nobody else. Any thread.
final class DeliveryQueue: Sendable {
    let operations: OperationQueue
    private let ready = Mutex(Ready())

    private struct Ready {
        var deliveries: [Delivery] = []
        var isScheduled = false
    }

    /// A task with messages in its mailbox. The mailbox sees to it that there is one at a time.
    struct Delivery: Sendable {
        let runner: TaskRunner
        let task: URLSessionTask

        func run() {
            runner.deliver(about: task)
        }
    }

    init(_ operations: OperationQueue) {
        self.operations = operations
    }

    func add(_ deliveries: [Delivery]) {
        guard operations.maxConcurrentOperationCount == 1 else {
            for delivery in deliveries { addOperation(delivery.run) }
            return
        }
        let schedules = ready.withLock { ready in
            ready.deliveries += deliveries
            defer { ready.isScheduled = true }
            return !ready.isScheduled
        }
        if schedules { addOperation(runReady) }
    }

    /// Calls `body` on the queue.
    func addOperation(_ body: @escaping @Sendable () -> Void) {
        operations.addOperation(DeliveryOperation(body))
    }

    /// One operation's worth; what has come meanwhile gets another, behind whatever else the user's queue holds.
    private func runReady() {
        let deliveries = ready.withLock { ready in
            defer { ready.deliveries = [] }
            return ready.deliveries
        }
        for delivery in deliveries { delivery.run() }
        let goesOn = ready.withLock { ready in
            ready.isScheduled = !ready.deliveries.isEmpty
            return ready.isScheduled
        }
        if goesOn { addOperation(runReady) }
    }
}

/// An operation that can't be cancelled: the queue is the user's, who may cancel what is in it, but every task completes.
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
