import Dispatch
import Foundation
import CurlNetworkingLocks

/// The delegate queue of a session that wasn't given one: serial, unless the program lets it run several operations at once.
///
/// As long as it is serial, its operations run on a dispatch queue of its own. On the threads of a global queue, all of which a program may
/// block until a handler is called, they would have to wait: Dispatch adds a thread only once a second.
///
/// `@unchecked Sendable`, as `OperationQueue` is: a lock guards the variable.
final class SessionQueue: OperationQueue, @unchecked Sendable {
    private let serialQueue = DispatchQueue(label: "CurlNetworking.delegates")
    /// How many threads are adding something.
    private let adding = Mutex(0)

    override init() {
        super.init()
        maxConcurrentOperationCount = 1
        super.underlyingQueue = serialQueue
    }

    /// The program's; nil without one.
    override var underlyingQueue: DispatchQueue? {
        get { isOnSerialQueue ? nil : super.underlyingQueue }
        set { super.underlyingQueue = newValue }
    }

    private var isOnSerialQueue: Bool { super.underlyingQueue === serialQueue }

    override func addOperation(_ operation: Operation) {
        beginAdding()
        super.addOperation(operation)
        endAdding()
    }

    override func addOperations(_ operations: [Operation], waitUntilFinished: Bool) {
        beginAdding()
        super.addOperations(operations, waitUntilFinished: false)
        endAdding()
        guard waitUntilFinished else { return }
        for operation in operations { operation.waitUntilFinished() }
    }

    override func addBarrierBlock(_ barrier: @escaping @Sendable () -> Void) {
        beginAdding()
        if isOnSerialQueue, operationCount == 0 {
            // Foundation would run it beside an underlying queue.
            serialQueue.async(execute: barrier)
        } else {
            super.addBarrierBlock(barrier)
        }
        endAdding()
    }

    /// Leaves the serial queue once the program has raised `maxConcurrentOperationCount`, and nothing is in the queue: otherwise Foundation
    /// traps.
    private func beginAdding() {
        adding.withLock {
            if maxConcurrentOperationCount != 1, $0 == 0, isOnSerialQueue, operationCount == 0 {
                super.underlyingQueue = nil
            }
            $0 += 1
        }
    }

    private func endAdding() {
        adding.withLock { $0 -= 1 }
    }
}
