import Foundation

// The connection between a web socket's exchange and its task.

extension TaskHandle: WebSocketExchangeOwner {
    func webSocketExchangeChanged() {
        submit { (self.loader?.phase.transfer as? WebSocketTransfer)?.exchangeChanged() }
    }

    /// Makes the delegate queue call `body`, after everything added earlier but before the completion.
    func call(_ body: @escaping @Sendable () -> Void) {
        if addCall(.result, body) { deliverCalls() }
    }

    /// True if the caller must schedule a delivery.
    func addCall(_ kind: Mailbox.CallKind, _ body: @escaping @Sendable () -> Void) -> Bool {
        changesDelivery { $0.mailbox.post(.call(kind, body)) }
    }

    func releaseMessages() {
        update { $0.mailbox.noteClosing() }
    }

    var announcesWebSocket: Bool { delegates.webSocket != nil }

    /// Ends the exchange with the task's `outcome`: nothing more can be sent. Loop.
    func end(_ exchange: WebSocketExchange, with outcome: Outcome) {
        let error =
            outcome.error
            ?? URLError(.networkConnectionLost, url: shownURL.map(exchange.shown), "The web socket is closed.")
        let loop = pool.loop
        exchange.end(error.shown, isCancelled: error.code == .cancelled) { loop.atEndOfRound($0) }
    }
}
