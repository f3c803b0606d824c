import Foundation
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("What a program and its web socket have for each other")
struct WebSocketExchangeTests {
    /// Stands in for the task.
    private final class Owner: WebSocketExchangeOwner {
        let changes = Watched(0)
        let calls = Watched<[@Sendable () -> Void]>([])
        let suspension = Watched(false)
        let announcesWebSocket: Bool

        init(announces: Bool = false) {
            announcesWebSocket = announces
        }

        var isSuspended: Bool { suspension.value }
        func webSocketExchangeChanged() { changes.update { $0 += 1 } }
        func addCall(_ kind: Mailbox.CallKind, _ body: @escaping @Sendable () -> Void) -> Bool {
            calls.update { $0.append(body) }
            return true
        }
        func deliverCalls() {}
        func releaseMessages() {}
        func whenShown(_ action: @escaping () -> Void) { action() }
        func tell(_ event: TaskEvent) {}

        /// What the delegate queue would do.
        func deliver() {
            let bodies = calls.update { calls in
                defer { calls = [] }
                return calls
            }
            for body in bodies { body() }
        }
    }

    private let exchange = WebSocketExchange(WebSocketHandshake.Offer())
    private let results = Watched<[String]>([])

    private func open(_ owner: Owner) {
        exchange.join(owner)
        exchange.opened(nil)
    }

    private func receive(_ name: String) {
        exchange.receive(exchange.makeReceiver(), isHandler: true) { [results] result in
            let text = (try? result.get()).map { "\($0.count)" } ?? "failed"
            results.update { $0.append("\(name) \(text)") }
        }
    }

    private func arrive(_ count: Int) {
        exchange.received(.binary(Data(count: count))) { $0() }
    }

    @Test("A web socket's memory is full with 256 KiB of messages and 64 bytes for each, until half of them are taken")
    func bound() {
        let owner = Owner()
        open(owner)
        var count = 0
        while !exchange.isFull {
            arrive(960)
            count += 1
        }
        #expect(count == 256)
        for _ in 0..<127 { receive("a") }
        #expect(exchange.isFull)
        #expect(owner.changes.value == 0)
        receive("a")
        #expect(!exchange.isFull)
        // The reader of the connection has to look again, once.
        #expect(owner.changes.value == 1)
        receive("a")
        #expect(owner.changes.value == 1)
        arrive(10 << 20)
        #expect(exchange.isFull)
    }

    @Test("Data that waits to be sent is released without a lock: its deallocator may use the task")
    func deallocator() {
        let owner = Owner()
        open(owner)
        exchange.send(.binary(.calling { [exchange] in _ = exchange.isFull }), isHandler: true) { _ in }
        exchange.end(URLError(.cancelled), isCancelled: true) { $0() }
        owner.deliver()
        #expect(exchange.takeSend() == nil)
    }

    @Test("A message that is sent after cancel isn't for the connection, and fails with the task")
    func sendAfterCancel() {
        let owner = Owner()
        open(owner)
        exchange.cancelled()
        exchange.send(.text("a"), isHandler: true) { [results] result in
            if case .failure = result { results.update { $0.append("failed") } }
        }
        #expect(exchange.takeSend() == nil)
        owner.deliver()
        #expect(results.value.isEmpty)
        exchange.end(URLError(.cancelled), isCancelled: true) { $0() }
        owner.deliver()
        #expect(results.value == ["failed"])
    }

    @Test("A message that is larger than the bound comes alone")
    func large() {
        let owner = Owner()
        open(owner)
        #expect(!exchange.isFull)
        arrive(1 << 20)
        #expect(exchange.isFull)
        receive("a")
        owner.deliver()
        #expect(results.value == ["a 1048576"])
        #expect(!exchange.isFull)
    }

    @Test("Receivers and messages find each other in their order, whichever come first")
    func order() {
        let owner = Owner()
        open(owner)
        receive("a")
        receive("b")
        for count in 1...3 { arrive(count) }
        receive("c")
        receive("d")
        arrive(4)
        owner.deliver()
        #expect(results.value == ["a 1", "b 2", "c 3", "d 4"])
    }

    @Test("No message is received before the delegate has heard of the opening, nor while the task is suspended")
    func announcement() {
        let owner = Owner(announces: true)
        open(owner)
        receive("a")
        arrive(1)
        #expect(results.value == [])
        // The announcement itself, and then what it lets through.
        owner.deliver()
        owner.deliver()
        #expect(results.value == ["a 1"])
        owner.suspension.update { $0 = true }
        exchange.suspensionChanged()
        receive("b")
        arrive(2)
        owner.deliver()
        #expect(results.value == ["a 1"])
        owner.suspension.update { $0 = false }
        exchange.suspensionChanged()
        owner.deliver()
        #expect(results.value == ["a 1", "b 2"])
    }

    @Test("A web socket that ends at once gives its messages only when the delegate has heard that it was open")
    func endBeforeAnnouncement() {
        let owner = Owner(announces: true)
        open(owner)
        let note: @Sendable (String, Result<WebSocketMessage, any Error>) -> Void = { [results] name, result in
            results.update { $0.append("\(name) \((try? result.get())?.count ?? -1)") }
        }
        exchange.receive(exchange.makeReceiver(), isHandler: false) { note("task", $0) }
        receive("handler")
        for count in 1...3 { arrive(count) }
        exchange.end(URLError(.networkConnectionLost), isCancelled: false) { $0() }
        exchange.receive(exchange.makeReceiver(), isHandler: false) { note("late", $0) }
        exchange.receive(exchange.makeReceiver(), isHandler: false) { note("later", $0) }
        #expect(results.value == [])
        // The announcement itself, and then handlers, whose turn comes on the delegate's queue.
        owner.deliver()
        #expect(results.value == ["task 1", "late 3", "later -1"])
        owner.deliver()
        #expect(results.value == ["task 1", "late 3", "later -1", "handler 2"])
    }

    @Test(
        "The delegate doesn't hear that a cancelled web socket was open, nor of a connection that fails",
        arguments: [false, true]
    )
    func endWithoutAnnouncement(isOpen: Bool) {
        let owner = Owner(announces: true)
        if isOpen { open(owner) } else { exchange.join(owner) }
        exchange.receive(exchange.makeReceiver(), isHandler: false) { [results] result in
            results.update { $0.append((try? result.get()) == nil ? "failed" : "received") }
        }
        if isOpen { arrive(1) }
        exchange.end(URLError(isOpen ? .cancelled : .cannotConnectToHost), isCancelled: isOpen) { $0() }
        #expect(results.value == ["failed"])
    }

    @Test("The delegate's hearing that the web socket is open lets the connection read on, if it was full")
    func roomByAnnouncement() {
        let owner = Owner(announces: true)
        open(owner)
        receive("a")
        arrive(1 << 20)
        #expect(exchange.isFull)
        owner.deliver()
        #expect(owner.changes.value == 1)
        #expect(!exchange.isFull)
    }

    @Test(
        "Handlers of what comes too late are called after those of what was sent before, connected or not",
        arguments: [false, true]
    )
    func refusals(isOpen: Bool) {
        let owner = Owner()
        if isOpen { open(owner) } else { exchange.join(owner) }
        @Sendable func note(_ name: String) -> @Sendable (Result<Void, any Error>) -> Void {
            { [results] result in
                let code = if case .failure(let error) = result { (error as? URLError)?.code.rawValue } else { 0 }
                results.update { $0.append("\(name) \(code ?? 0)") }
            }
        }
        exchange.send(.text("a"), isHandler: true, note("a"))
        exchange.sendPing(isHandler: true, note("b"))
        exchange.send(.text("c"), isHandler: true, note("c"))
        if isOpen, let sending = exchange.takeSend() { exchange.giveBack([sending.waiter]) }
        #expect(exchange.close(WebSocketClosing(1000)) == isOpen)
        exchange.send(.text("d"), isHandler: true, note("d"))
        exchange.sendPing(isHandler: true, note("e"))
        owner.deliver()
        #expect(results.value == [])
        exchange.end(URLError(.networkConnectionLost), isCancelled: false) { $0() }
        exchange.send(.text("f"), isHandler: true, note("f"))
        owner.deliver()
        #expect(results.value == ["a -1005", "b -1005", "c -1005", "d -1005", "e -1005", "f -1005"])
    }

    @Test("A receiver that was cancelled gets nothing, before it waits and while it does")
    func cancelledReceivers() {
        let owner = Owner()
        open(owner)
        let (early, late) = (exchange.makeReceiver(), exchange.makeReceiver())
        let note: @Sendable (String, Result<WebSocketMessage, any Error>) -> Void = { [results] name, result in
            let text =
                switch result {
                case .success(let message): "\(message.count)"
                case .failure(let error): error is CancellationError ? "cancelled" : "failed"
                }
            results.update { $0.append("\(name) \(text)") }
        }
        exchange.cancelReceiver(early)
        arrive(1)
        exchange.receive(early, isHandler: false) { note("early", $0) }
        exchange.receive(exchange.makeReceiver(), isHandler: false) { note("a", $0) }
        exchange.receive(late, isHandler: false) { note("late", $0) }
        exchange.cancelReceiver(late)
        arrive(2)
        exchange.receive(exchange.makeReceiver(), isHandler: false) { note("b", $0) }
        #expect(results.value == ["early cancelled", "a 1", "late cancelled", "b 2"])
    }

    @Test("Of many receivers that wait, those that are cancelled are answered at once, and the others keep their order")
    func manyCancelledReceivers() {
        let count = 20_000
        let owner = Owner()
        open(owner)
        let cancelled = Watched(Set<Int>())
        let numbers = (0..<count).map { index in
            let number = exchange.makeReceiver()
            exchange.receive(number, isHandler: false) { [results] result in
                if case .success(let message) = result {
                    results.update { $0.append("\(index) \(message.count)") }
                } else {
                    cancelled.update { _ = $0.insert(index) }
                }
            }
            return number
        }
        let others = Array(stride(from: 0, to: count, by: 1000))
        var generator = SeededGenerator(seed: 3)
        for index in (0..<count).shuffled(using: &generator) where index % 1000 != 0 {
            exchange.cancelReceiver(numbers[index])
        }
        #expect(cancelled.value == Set(0..<count).subtracting(others))
        for size in others.indices { arrive(size) }
        #expect(results.value == others.enumerated().map { size, index in "\(index) \(size)" })
    }

    @Test("A receiver whose number is lower comes first, though it begins to wait later")
    func lateReceiver() {
        let owner = Owner()
        open(owner)
        let numbers = (0..<4).map { _ in exchange.makeReceiver() }
        for index in [1, 3, 0, 2] {
            exchange.receive(numbers[index], isHandler: false) { [results] result in
                let text = (try? result.get()).map { "\($0.count)" } ?? "cancelled"
                results.update { $0.append("\(index) \(text)") }
            }
        }
        exchange.cancelReceiver(numbers[2])
        for count in 1...3 { arrive(count) }
        #expect(results.value == ["2 cancelled", "0 1", "1 2", "3 3"])
    }

    @Test("At the end what has come can still be received, unless the task was cancelled", arguments: [false, true])
    func end(isCancelled: Bool) {
        let owner = Owner()
        open(owner)
        arrive(1)
        exchange.end(URLError(.networkConnectionLost), isCancelled: isCancelled) { $0() }
        receive("a")
        receive("b")
        arrive(2)
        owner.deliver()
        #expect(results.value == (isCancelled ? ["a failed", "b failed"] : ["a 1", "b failed"]))
    }
}
