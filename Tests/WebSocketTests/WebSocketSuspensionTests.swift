import CurlNetworking
import CurlNetworkingLoopbackServer
import Foundation
import TestSupport
import Testing

@Suite("Web sockets that are suspended", .timeLimit(.minutes(2)))
struct WebSocketSuspensionTests {
    private typealias Frame = LoopbackServer.WebSocketFrame
    private typealias Event = WebSocketDelegate.Event

    /// How a server ends a web socket.
    enum End: CaseIterable, Sendable {
        case closed, lost

        fileprivate var steps: [LoopbackServer.Step] {
            switch self {
            case .closed: [.frame(.close(1000, "bye"))]
            case .lost: [.close]
            }
        }

        /// What the delegate is told between the messages and the completion.
        fileprivate var events: [WebSocketDelegate.Event] {
            switch self {
            case .closed: [.closed(1000, reason: "bye")]
            case .lost: []
            }
        }

        fileprivate var code: URLError.Code? {
            switch self {
            case .closed: nil
            case .lost: .networkConnectionLost
            }
        }
    }

    private static let texts = ["m0", "m1", "m2"]
    private static let messages: [LoopbackServer.Step] = texts.map { .frame(.text($0)) }
    private static let notes: [Event] = texts.map { .noted($0) }

    /// A suspended web socket whose connection has ended, after messages had arrived. Nothing has been asked for.
    private func makeEnded(
        _ end: End = .closed,
        _ configure: (URLSessionConfiguration) -> Void = { _ in }
    ) async throws -> WebSocketRig {
        let gate = Gate()
        let rig = try WebSocketRig(configure: configure) { event in
            switch event {
            case .opened: [.waitFor(gate)] + Self.messages + end.steps
            case .received(let frame): frame.opcode == Frame.Opcode.close ? [.close] : []
            case .finished: []
            }
        }
        try await rig.delegate.opening()
        rig.task.suspend()
        // Once the event loop has answered this, it has seen the suspension.
        _ = await rig.session.connections
        gate.open()
        try await eventually { await rig.session.connections.allSatisfy { $0.open == 0 } }
        return rig
    }

    @Test(
        "A web socket that ends while it is suspended is reported when it is resumed, after the messages before the end",
        arguments: End.allCases
    )
    func resumed(end: End) async throws {
        let rig = try await makeEnded(end)
        defer { rig.stop() }
        let (task, delegate) = (rig.task, rig.delegate)
        delegate.noteMessages(of: task)
        task.send(.string("late")) { delegate.note($0 == nil ? "sent" : "not sent") }
        await rig.session.passDelegateQueue()
        #expect(delegate.events == [.opened(nil)])
        #expect(task.state == .suspended)
        #expect(task.closeCode == (end == .closed ? .normalClosure : .abnormalClosure))
        task.resume()
        var events = try await delegate.completion()
        #expect(events.popLast() == .completed(end.code))
        // The last handler asks for another message before the end is there, or after it.
        let failures = [events.popLast(), events.popLast()]
        #expect(failures.contains(.noted("no more")) && failures.contains(.noted("not sent")))
        #expect(events == [.opened(nil)] + Self.notes + end.events)
    }

    @Test("A Swift task gets a suspended web socket's messages, and its end, when that is resumed")
    func swiftTask() async throws {
        let rig = try await makeEnded()
        defer { rig.stop() }
        let (task, delegate) = (rig.task, rig.delegate)
        let reader = Task {
            for try await message in task.messages {
                #expect(task.state != .suspended)
                if case .string(let text) = message { delegate.note(text) }
            }
            delegate.note("no more")
        }
        await rig.session.passDelegateQueue()
        #expect(delegate.events == [.opened(nil)])
        task.resume()
        try await reader.value
        let noted = try await delegate.completion().filter { if case .noted = $0 { true } else { false } }
        #expect(noted == Self.notes + [.noted("no more")])
    }

    @Test("A suspended web socket ends at once if it is cancelled")
    func cancelled() async throws {
        let rig = try await makeEnded()
        defer { rig.stop() }
        rig.delegate.noteMessages(of: rig.task)
        rig.task.cancel()
        let events = try await rig.delegate.completion()
        #expect(events == [.opened(nil), .noted("no more"), .completed(.cancelled)])
    }

    @Test("A suspended web socket that the server has closed ends as soon as the program wants to close it, too")
    func closedLate() async throws {
        let rig = try await makeEnded()
        defer { rig.stop() }
        rig.delegate.noteMessages(of: rig.task)
        rig.task.cancel(with: .goingAway, reason: nil)
        let end: [Event] = [.closed(1000, reason: "bye"), .noted("no more"), .completed(nil)]
        #expect(try await rig.delegate.completion() == [.opened(nil)] + Self.notes + end)
        #expect(rig.task.closeCode == .normalClosure)
    }

    @Test("The program can close a web socket that it has suspended")
    func closed() async throws {
        let rig = try WebSocketRig { event in
            guard case .received(let frame) = event, frame.opcode == Frame.Opcode.close else { return [] }
            return [.frame(.close(1000)), .close]
        }
        defer { rig.stop() }
        try await rig.delegate.opening()
        rig.task.suspend()
        rig.task.cancel(with: .normalClosure, reason: nil)
        let events = try await rig.delegate.completion()
        #expect(events == [.opened(nil), .closed(1000, reason: ""), .completed(nil)])
    }

    @Test("A suspended web socket that the program closes ends, even if it is then suspended or resumed once more")
    func closedAndSuspendedAgain() async throws {
        let rig = try WebSocketRig { event in
            switch event {
            case .opened: (0..<3).map { .frame(.text("m\($0)")) }
            case .received(let frame): frame.opcode == Frame.Opcode.close ? [.frame(.close(1000)), .close] : []
            case .finished: []
            }
        }
        defer { rig.stop() }
        let (task, delegate) = (rig.task, rig.delegate)
        // Messages are handed out once the delegate has returned from `didOpen`.
        #expect(try await task.receiveText() == "m0")
        rig.session.delegateQueue.isSuspended = true
        task.receive { _ in delegate.note("m1") }
        // By then, the message before this one is on its way to the handler.
        #expect(try await task.receiveText() == "m2")
        for _ in 0..<3 { task.suspend() }
        task.cancel(with: .normalClosure, reason: nil)
        task.suspend()
        task.resume()
        // Fails when the task is over.
        await #expect(throws: URLError.self) { try await task.sendPing() }
        rig.session.delegateQueue.isSuspended = false
        let events = try await delegate.completion()
        #expect(events == [.opened(nil), .noted("m1"), .closed(1000, reason: ""), .completed(nil)])
    }

    @Test("A suspended web socket without a connection takes no place at its host")
    func place() async throws {
        let rig = try await makeEnded {
            $0.httpMaximumConnectionsPerHost = 1
            $0.curl.webSockets.countInConnectionLimits = true
        }
        defer { rig.stop() }
        let other = rig.session.webSocketTask(with: rig.server.webSocketURL())
        other.resume()
        #expect(try await other.receiveText() == "m0")
    }

    @Test(
        "A delegate that suspends the task when it hears that the web socket is open gets no message, though all have arrived"
    )
    func suspendedWhenOpen() async throws {
        let server = try LoopbackServer.forWebSockets { event in
            if case .opened = event { Self.messages + [.frame(.close(1000)), .close] } else { [] }
        }
        defer { server.stop() }
        let delegate = WebSocketDelegate { _, task in task.suspend() }
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        session.delegateQueue.isSuspended = true
        let task = session.webSocketTask(with: server.webSocketURL())
        delegate.noteMessages(of: task)
        task.resume()
        // Fails when the task is over; a Swift task needs no queue for that.
        await #expect(throws: URLError.self) { try await task.sendPing() }
        session.delegateQueue.isSuspended = false
        try await delegate.opening()
        await session.passDelegateQueue()
        #expect(delegate.events == [.opened(nil)])
        #expect(task.state == .suspended)
        task.resume()
        let end: [Event] = [.closed(1000, reason: ""), .noted("no more"), .completed(nil)]
        #expect(try await delegate.completion() == [.opened(nil)] + Self.notes + end)
    }

    @Test(
        "A handler that suspends the task gets no message, even if it asks for one at once",
        arguments: [false, true]
    )
    func suspendedByHandler(isClosed: Bool) async throws {
        let gate = Gate()
        let texts = (0..<100).map { "m\($0)" }
        let rig = try WebSocketRig { event in
            guard case .opened = event else { return [] }
            let close: [LoopbackServer.Step] = isClosed ? [.frame(.close(1000)), .close] : []
            return [.waitFor(gate)] + texts.map { .frame(.text($0)) } + close
        }
        defer { rig.stop() }
        let (task, delegate) = (rig.task, rig.delegate)
        @Sendable func receive() {
            task.receive { result in
                guard case .success(.string(let text)) = result else { return }
                delegate.note("\(text) \(task.state == .suspended)")
                task.suspend()
                receive()
                DispatchQueue.global().async { task.resume() }
            }
        }
        receive()
        gate.open()
        if isClosed { try await delegate.completion() } else { try await delegate.wait { $0 == .noted("m99 false") } }
        let end: [Event] = isClosed ? [.closed(1000, reason: ""), .completed(nil)] : []
        #expect(delegate.events == [.opened(nil)] + texts.map { .noted("\($0) false") } + end)
    }
}

extension URLSession {
    /// Returns when the delegate queue has made the calls that were due. Each takes a turn of the queue.
    fileprivate func passDelegateQueue() async {
        for _ in 1...20 {
            await withCheckedContinuation { turn in delegateQueue.addOperation { turn.resume() } }
        }
    }
}
