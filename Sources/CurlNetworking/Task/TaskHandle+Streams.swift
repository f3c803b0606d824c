import CurlTransport
import Foundation

// Stream tasks: those created as such, and those that data tasks have become. On the loop, unless noted otherwise.

extension TaskHandle: StreamOwner {
    var loop: EventLoop { pool.loop }

    var shownURL: URL? { shared.withLock { $0.currentRequest?.url } }

    func reply(_ handler: @escaping @Sendable () -> Void) {
        guard addCall(.result, handler) else { return }
        if let delivery { pool.deliverAtEndOfRound(delivery) } else { deliverCalls() }
    }

    /// Adds an operation of a stream task. Any thread. If the task is about to complete, its completion waits until the caller has been
    /// answered.
    func add(_ operation: StreamPort.Operation) {
        let (port, waitsForLoop, isEnding) = shared.withLock { shared in
            let isEnding = shared.isEnding
            if isEnding { shared.mailbox.holdCompletion() }
            let waitsForLoop = shared.machine.isSuspended || shared.machine.cancellation != nil
            return (shared.consumer.port, waitsForLoop, isEnding)
        }
        port?.add(operation, for: self, waitsForLoop: waitsForLoop)
        guard isEnding else { return }
        // The loop takes the operation before it gets to this.
        submit { self.updateOnLoop { $0.mailbox.releaseCompletion() } }
    }
}

// MARK: - A data task that has become a stream task

extension TaskHandle: ResponseStreamOwner {
    func streamEnded() {
        let isOver = shared.withLock { shared in
            shared.endReading()
            return shared.outcome != nil
        }
        if isOver { post(.completed) } else { loader?.finish(.delivered) }
    }

    func streamFailed(_ error: URLError) {
        if let loader { return loader.fail(error) }
        shared.withLock { if $0.isBeingRead { $0.outcome = .failure(error) } }
        endReading(.task(error))
    }

    /// Ends reading; the task completes, if its response has ended.
    func endReading(_ failure: StreamFailure) {
        let (wasRead, isOver, port) = shared.withLock { shared in
            defer { shared.endReading() }
            return (shared.isBeingRead, shared.outcome != nil, shared.consumer.port)
        }
        guard wasRead else { return }
        port?.fail(failure)
        if isOver { post(.completed) }
    }
}
