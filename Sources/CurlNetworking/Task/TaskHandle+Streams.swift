import CurlTransport
import Foundation

// Stream tasks: those that were made as such, and those that a data task has become. On the loop, but for what says otherwise.

extension TaskHandle: StreamOwner {
    var loop: EventLoop { pool.loop }

    var shownURL: URL? { shared.withLock { $0.currentRequest?.url } }

    func reply(_ handler: @escaping @Sendable () -> Void) {
        guard addCall(handler) else { return }
        if let delivery { pool.deliverAtEndOfRound(delivery) } else { deliverCalls() }
    }

    /// Notes what is to be done with a stream task. Any thread.
    func add(_ wish: StreamPort.Wish) {
        let (port, isSuspended) = shared.withLock { ($0.consumer.port, $0.machine.isSuspended) }
        port?.add(wish, for: self, isSuspended: isSuspended)
    }
}

// MARK: - A data task that has become a stream task

extension TaskHandle: ResponseStreamOwner {
    func streamEnded() {
        let isOver = shared.withLock { shared in
            shared.isBeingRead = false
            return shared.outcome != nil
        }
        if isOver { post(.completed) } else { loader?.finish(.delivered) }
    }

    func streamFailed(_ error: URLError) {
        if let loader { return loader.fail(error) }
        shared.withLock { if $0.isBeingRead { $0.outcome = .failure(error) } }
        endReading(.task(error))
    }

    /// Nobody reads any more: the task completes, if its response has come to its end.
    func endReading(_ failure: StreamFailure) {
        let (wasRead, isOver, port) = shared.withLock { shared in
            defer { shared.isBeingRead = false }
            return (shared.isBeingRead, shared.outcome != nil, shared.consumer.port)
        }
        guard wasRead else { return }
        port?.fail(failure)
        if isOver { post(.completed) }
    }
}
