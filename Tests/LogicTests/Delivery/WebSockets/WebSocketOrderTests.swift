import CurlNetworkingLocks
import Foundation
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("The order in which a web socket's delegate and handlers are called")
struct WebSocketOrderTests {
    /// Stands in for the task, with its mailbox.
    private final class Owner: WebSocketExchangeOwner {
        let notes = Watched<[String]>([])
        private let suspension = Watched(false)
        private let mailbox = Mutex(Mailbox())

        var announcesWebSocket: Bool { true }
        var isSuspended: Bool { suspension.value }
        func webSocketExchangeChanged() {}
        func addCall(_ kind: Mailbox.CallKind, _ body: @escaping @Sendable () -> Void) -> Bool {
            mailbox.withLock { $0.post(.call(kind, body)) }
            return false
        }
        func deliverCalls() {}
        func releaseMessages() { mailbox.withLock { $0.noteClosing() } }
        func whenShown(_ action: @escaping () -> Void) { action() }
        func tell(_ event: TaskEvent) { post(.event(event)) }
        func post(_ message: Mailbox.Message) { mailbox.withLock { $0.post(message) } }

        /// What the delegate queue would do. `onOpen` is called when the delegate is told that the web socket is open.
        func deliver(onOpen: () -> Void = {}) {
            while let message = mailbox.withLock({ $0.next() }) {
                switch message {
                case .call(_, let body): body()
                case .event(.openedWebSocket):
                    note("opened")
                    onOpen()
                case .event(.closedWebSocket): note("closed")
                case .completed: note("completed")
                default: note("?")
                }
            }
        }

        func setSuspended(_ isSuspended: Bool) {
            suspension.update { $0 = isSuspended }
            mailbox.withLock { $0.setSuspended(isSuspended) }
        }

        func note(_ text: String) { notes.update { $0.append(text) } }
    }

    private let exchange = WebSocketExchange(WebSocketHandshake.Offer())
    private let owner = Owner()

    init() {
        exchange.join(owner)
    }

    /// Asks for a message, and in its handler for the next.
    private func receiveAll() {
        exchange.receive(exchange.makeReceiver(), isHandler: true) { result in
            guard case .success(.text(let text)) = result else { return owner.note("not received") }
            owner.note(text)
            receiveAll()
        }
    }

    private func arrive(_ texts: String...) {
        for text in texts { exchange.received(.text(text)) { $0() } }
    }

    private func setSuspended(_ isSuspended: Bool) {
        owner.setSuspended(isSuspended)
        exchange.suspensionChanged()
    }

    /// The connection has ended, with or without the server's close frame.
    private func end(isClosed: Bool) {
        #expect(exchange.disconnect(isClosed ? WebSocketClosing(1000) : nil))
        exchange.end(URLError(.networkConnectionLost), isCancelled: false) { $0() }
        owner.post(.completed)
    }

    @Test(
        "What arrived before the end comes before it, however late the delegate hears that the web socket is open",
        arguments: [true, false],
        [true, false]
    )
    func lateAnnouncement(isClosed: Bool, receivesWhenOpen: Bool) {
        if !receivesWhenOpen { receiveAll() }
        exchange.send(.text("a"), isHandler: true) { [owner] _ in owner.note("not sent") }
        exchange.sendPing(isHandler: true) { [owner] _ in owner.note("answered") }
        exchange.opened(nil)
        arrive("m0", "m1", "m2")
        if let ping = exchange.takePing() { exchange.complete(ping, .success(())) { $0() } }
        end(isClosed: isClosed)
        owner.deliver { if receivesWhenOpen { receiveAll() } }
        let end = (isClosed ? ["closed"] : []) + ["not sent", "not received", "completed"]
        #expect(owner.notes.value == ["opened", "answered", "m0", "m1", "m2"] + end)
    }

    @Test(
        "What arrived before the end comes before it, where each handler asks for the next message",
        arguments: [true, false]
    )
    func busyQueue(isClosed: Bool) {
        exchange.opened(nil)
        owner.deliver()
        receiveAll()
        exchange.send(.text("a"), isHandler: true) { [owner] _ in owner.note("not sent") }
        arrive("m0", "m1", "m2")
        end(isClosed: isClosed)
        owner.deliver()
        let end = (isClosed ? ["closed"] : []) + ["not sent", "not received", "completed"]
        #expect(owner.notes.value == ["opened", "m0", "m1", "m2"] + end)
    }

    @Test("A task that its delegate suspends within didOpenWithProtocol hands out nothing until it is resumed")
    func suspendedWhenOpen() {
        receiveAll()
        exchange.opened(nil)
        arrive("m0", "m1")
        owner.deliver { setSuspended(true) }
        arrive("m2")
        owner.deliver()
        #expect(owner.notes.value == ["opened"])
        setSuspended(false)
        owner.deliver()
        #expect(owner.notes.value == ["opened", "m0", "m1", "m2"])
    }

    @Test(
        "A task that its delegate suspends within didOpenWithProtocol tells nothing more until it is resumed, even if it is over",
        arguments: [true, false]
    )
    func overWhenOpen(isClosed: Bool) {
        receiveAll()
        exchange.opened(nil)
        arrive("m0", "m1")
        end(isClosed: isClosed)
        owner.deliver { setSuspended(true) }
        #expect(owner.notes.value == ["opened"])
        setSuspended(false)
        owner.deliver()
        let end = (isClosed ? ["closed"] : []) + ["not received", "completed"]
        #expect(owner.notes.value == ["opened", "m0", "m1"] + end)
    }

    @Test("A suspended task that is over tells the rest when the program wants to close it")
    func overAndClosing() {
        receiveAll()
        exchange.opened(nil)
        arrive("m0", "m1")
        end(isClosed: true)
        owner.deliver { setSuspended(true) }
        #expect(exchange.close(WebSocketClosing(1000)))
        owner.deliver()
        #expect(owner.notes.value == ["opened", "m0", "m1", "closed", "not received", "completed"])
    }

    @Test("A task that the program suspends and wants to close hands out what had arrived, when the end is told")
    func suspendedAndClosing() {
        exchange.opened(nil)
        owner.deliver()
        setSuspended(true)
        receiveAll()
        arrive("m0", "m1")
        #expect(!exchange.disconnect(nil))
        #expect(exchange.close(WebSocketClosing(1000)))
        owner.deliver()
        #expect(owner.notes.value == ["opened"])
        end(isClosed: true)
        owner.deliver()
        #expect(owner.notes.value == ["opened", "m0", "m1", "closed", "not received", "completed"])
    }

    @Test("A message that no handler waits for doesn't hold up the end, and can be received afterwards")
    func unwanted() {
        exchange.opened(nil)
        arrive("m0", "m1")
        end(isClosed: true)
        owner.deliver()
        #expect(owner.notes.value == ["opened", "closed", "completed"])
        receiveAll()
        owner.deliver()
        #expect(owner.notes.value == ["opened", "closed", "completed", "m0", "m1", "not received"])
    }
}
