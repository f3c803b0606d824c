import Foundation

// How a web socket's exchange and its task belong together.

extension TaskHandle: WebSocketExchangeOwner {
    /// What the task's program and its connection exchange; nil for a task of another kind.
    var webSocket: WebSocketExchange? {
        if case .webSocket(let exchange) = shared.withLock({ $0.consumer }) { exchange } else { nil }
    }

    func webSocketWishesChanged() {
        submit { self.loader?.phase.transfer?.wishesChanged() }
    }

    func call(_ body: @escaping @Sendable () -> Void) {
        let (schedules, isOver) = shared.withLock { shared in
            shared.task == nil ? (false, true) : (shared.mailbox.post(.call(body)), false)
        }
        if schedules { scheduleDelivery() }
        if isOver { callAfterEnd(body) }
    }

    func callAfterEnd(_ body: @escaping @Sendable () -> Void) {
        session.deliveryQueue.addOperation(body)
    }

    var announcesWebSocket: Bool { delegates.webSocket != nil }

    /// The task has come to `outcome`: nothing more can be sent. Loop.
    func end(_ exchange: WebSocketExchange, with outcome: Outcome) {
        let error = outcome.error ?? WebSocketExchange.closedError("The web socket is closed.")
        let loop = pool.loop
        exchange.end(error.shown, isCancelled: error.code == .cancelled) { loop.atEndOfRound($0) }
    }
}
