import CurlNetworking
import CurlNetworkingLoopbackServer
import Foundation
import TestSupport
import Testing

@Suite("Ends of web sockets", .timeLimit(.minutes(2)))
struct WebSocketEndTests {
    private typealias Frame = LoopbackServer.WebSocketFrame

    @Test("A server's close is answered with its status, and told once, after the messages before it")
    func serverCloses() async throws {
        let answers = Watched<[Frame]>([])
        let server = try LoopbackServer.forWebSockets { event in
            switch event {
            case .opened: return [.frame(.text("last")), .frame(.close(1001, "bye"))]
            case .received(let frame):
                answers.update { $0.append(frame) }
                return [.close]
            case .finished: return []
            }
        }
        defer { server.stop() }
        let delegate = WebSocketDelegate()
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let task = session.webSocketTask(with: server.webSocketURL())
        #expect(task.closeCode == .invalid)
        task.resume()
        let events = try await delegate.completion()
        #expect(events == [.opened(nil), .closed(1001, reason: "bye"), .completed(nil)])
        try await answers.wait { $0.map(\.closeCode) == [1001] }
        #expect(task.closeCode == .goingAway)
        #expect(task.closeReason == Data("bye".utf8))
        #expect(task.state == .completed)
        // What had come is still there, and then everything fails alike.
        #expect(try await task.receiveText() == "last")
        let error = try #require(await task.receiveError())
        #expect(error.code == .networkConnectionLost && error.failingURL == server.webSocketURL())
        await #expect(throws: error) { try await task.send(.string("a")) }
        await #expect(throws: error) { try await task.sendPing() }
        try await server.waitUntilNoConnections()
    }

    @Test("The program's own close changes nothing about a server's that came before it")
    func serverClosedFirst() async throws {
        let answers = Watched<[Frame]>([])
        let rig = try WebSocketRig { event in
            switch event {
            case .opened: return [.frame(.close(1001, "bye"))]
            case .received(let frame):
                answers.update { $0.append(frame) }
                return []
            case .finished: return []
            }
        }
        defer { rig.stop() }
        // The client waits a second for the server to close the connection.
        try await answers.wait { $0.map(\.closeCode) == [1001] }
        rig.task.cancel(with: .normalClosure, reason: Data("mine".utf8))
        #expect(rig.task.closeCode == .goingAway)
        #expect(rig.task.closeReason == Data("bye".utf8))
        #expect(try await rig.delegate.completion().contains(.closed(1001, reason: "bye")))
        #expect(rig.task.closeCode == .goingAway)
    }

    @Test("A message that comes with the end isn't received before the delegate has heard of the opening")
    func messageWithEnd() async throws {
        let server = try LoopbackServer.forWebSockets { event in
            if case .opened = event { [.frame(.text("only")), .frame(.close(1000)), .close] } else { [] }
        }
        defer { server.stop() }
        let delegate = WebSocketDelegate()
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        session.delegateQueue.isSuspended = true
        let task = session.webSocketTask(with: server.webSocketURL())
        let receiving = Task {
            let text = try await task.receiveText()
            delegate.note(text)
        }
        task.resume()
        // Fails when the task is over; a Swift task needs no queue for that.
        await #expect(throws: URLError.self) { try await task.sendPing() }
        session.delegateQueue.isSuspended = false
        try await receiving.value
        #expect(delegate.events.first == .opened(nil))
        #expect(try await delegate.completion().contains(.noted("only")))
    }

    @Test(
        "The delegate hears of the close after each message before it, where handlers ask for the next",
        arguments: [true, false]
    )
    func closedAfterMessages(receivesWhenOpen: Bool) async throws {
        let texts = (0..<5).map { "m\($0)" }
        let server = try LoopbackServer.forWebSockets { event in
            if case .opened = event { texts.map { .frame(.text($0)) } + [.frame(.close(1000)), .close] } else { [] }
        }
        defer { server.stop() }
        let delegate = WebSocketDelegate { delegate, task in
            if receivesWhenOpen { delegate.noteMessages(of: task) }
        }
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        session.delegateQueue.isSuspended = true
        let task = session.webSocketTask(with: server.webSocketURL())
        if !receivesWhenOpen { delegate.noteMessages(of: task) }
        task.resume()
        // Fails when the task is over; a Swift task needs no queue for that.
        await #expect(throws: URLError.self) { try await task.sendPing() }
        session.delegateQueue.isSuspended = false
        let events = try await delegate.completion()
        let end: [WebSocketDelegate.Event] = [.closed(1000, reason: ""), .noted("no more"), .completed(nil)]
        #expect(events == [.opened(nil)] + texts.map { .noted($0) } + end)
    }

    @Test("Waiting handlers fail after the delegate has heard of the close, however soon it came")
    func closedAtOnce() async throws {
        let server = try LoopbackServer.forWebSockets { event in
            if case .opened = event { [.frame(.close(1000)), .close] } else { [] }
        }
        defer { server.stop() }
        let delegate = WebSocketDelegate()
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        session.delegateQueue.isSuspended = true
        let task = session.webSocketTask(with: server.webSocketURL())
        for number in 1...2 { task.receive { _ in delegate.note("received \(number)") } }
        task.resume()
        // Fails when the task is over; a Swift task needs no queue for that.
        await #expect(throws: URLError.self) { try await task.sendPing() }
        session.delegateQueue.isSuspended = false
        let events = try await delegate.completion()
        #expect(
            events.dropLast()
                == [.opened(nil), .closed(1000, reason: ""), .noted("received 1"), .noted("received 2")]
        )
    }

    @Test("After the program's close, messages aren't even inflated: damage in them is no error")
    func messagesAfterClose() async throws {
        let pongs = Watched<[String]>([])
        let headers = [(name: "Sec-WebSocket-Extensions", value: "permessage-deflate")]
        let rig = try WebSocketRig(headers: headers) { event in
            guard case .received(let frame) = event else { return [] }
            switch frame.opcode {
            case Frame.Opcode.close:
                let damaged = Frame(Frame.Opcode.binary, Data([0xFF, 0xFF, 0xFF]), reserved: 4)
                return [.frame(damaged), .frame(.ping("still there?"))]
            case Frame.Opcode.pong:
                pongs.update { $0.append(frame.text) }
                // What follows the server's close frame is nothing at all.
                return [.frame(.close(1000)), .bytes(Data([0xFF, 0xFF])), .close]
            default: return []
            }
        }
        defer { rig.stop() }
        try await rig.delegate.opening()
        rig.task.cancel(with: .normalClosure, reason: nil)
        let events = try await rig.delegate.completion()
        #expect(events == [.opened(nil), .closed(1000, reason: ""), .completed(nil)])
        #expect(pongs.value == ["still there?"])
    }

    @Test("A close frame without a status gives 1005, and is answered without one")
    func noStatus() async throws {
        let answers = Watched<[Frame]>([])
        let rig = try WebSocketRig { event in
            switch event {
            case .opened: return [.frame(.close(nil))]
            case .received(let frame):
                answers.update { $0.append(frame) }
                return [.close]
            case .finished: return []
            }
        }
        defer { rig.stop() }
        let (task, delegate) = (rig.task, rig.delegate)
        #expect(try await delegate.completion() == [.opened(nil), .closed(1005, reason: ""), .completed(nil)])
        try await answers.wait { $0.map(\.payload) == [Data()] }
        #expect(task.closeCode == .noStatusReceived)
    }

    @Test("Closing sends what was to be sent before, then the status and reason, and waits for the answer")
    func closing() async throws {
        let frames = Watched<[Frame]>([])
        let rig = try WebSocketRig { event in
            guard case .received(let frame) = event else { return [] }
            frames.update { $0.append(frame) }
            return frame.opcode == Frame.Opcode.close ? [.frame(.close(1000, "so long")), .close] : []
        }
        defer { rig.stop() }
        let (task, delegate) = (rig.task, rig.delegate)
        try await delegate.opening()
        for number in 0..<3 { task.send(.string("\(number)")) { _ in } }
        task.cancel(with: .normalClosure, reason: Data("done".utf8))
        await #expect(throws: URLError.self) { try await task.send(.string("late")) }
        let events = try await delegate.completion()
        #expect(events == [.opened(nil), .closed(1000, reason: "so long"), .completed(nil)])
        #expect(frames.value.map(\.opcode) == [1, 1, 1, 8])
        #expect(frames.value.last?.closeCode == 1000)
        #expect(frames.value.last?.payload.dropFirst(2) == Data("done".utf8))
        #expect(task.closeReason == Data("so long".utf8))
    }

    @Test("Until the server's close frame comes, its pings are answered, and its pongs count")
    func pingsWhileClosing() async throws {
        let frames = Watched<[Frame]>([])
        let rig = try WebSocketRig { event in
            guard case .received(let frame) = event else { return [] }
            let seen = frames.update { frames in
                frames.append(frame)
                return frames
            }
            return switch frame.opcode {
            case Frame.Opcode.close:
                seen.filter { $0.opcode == Frame.Opcode.ping }.map { .frame(.pong($0.payload)) } + [
                    .frame(.ping("there?"))
                ]
            case Frame.Opcode.pong: [.frame(.close(1000)), .close]
            default: []
            }
        }
        defer { rig.stop() }
        let (task, delegate) = (rig.task, rig.delegate)
        try await delegate.opening()
        task.sendPing { delegate.note($0 == nil ? "answered" : "unanswered") }
        task.cancel(with: .normalClosure, reason: nil)
        let events = try await delegate.completion()
        #expect(events == [.opened(nil), .noted("answered"), .closed(1000, reason: ""), .completed(nil)])
        #expect(frames.value.map(\.opcode) == [Frame.Opcode.ping, Frame.Opcode.close, Frame.Opcode.pong])
        #expect(frames.value.last?.text == "there?")
    }

    @Test("A status that may not be sent is left out, and a long reason cut off between characters")
    func unsendable() async throws {
        for (code, reason, payload) in [
            (1006, Data("gone".utf8), 0), (4001, Data(String(repeating: "ä", count: 80).utf8), 124),
        ] {
            let frames = Watched<[Frame]>([])
            let server = try LoopbackServer.forWebSockets { event in
                guard case .received(let frame) = event else { return [] }
                frames.update { $0.append(frame) }
                return [.frame(.close(nil)), .close]
            }
            defer { server.stop() }
            let delegate = WebSocketDelegate()
            let session = URLSession.forTest(delegate: delegate)
            defer { session.invalidateAndCancel() }
            let task = session.webSocketTask(with: server.webSocketURL())
            task.resume()
            try await delegate.opening()
            task.cancel(withStatus: code, reason: reason)
            try await delegate.completion()
            #expect(frames.value.map(\.payload.count) == [payload])
        }
    }

    @Test("A connection that is lost fails the task, and everything that waits")
    func lost() async throws {
        let rig = try WebSocketRig { event in
            if case .received = event { [.close] } else { [] }
        }
        defer { rig.stop() }
        let (task, delegate) = (rig.task, rig.delegate)
        task.receive { delegate.note("receive \(($0.failureCode).map { "\($0.rawValue)" } ?? "")") }
        task.sendPing { delegate.note("ping \(($0 as? URLError).map { "\($0.code.rawValue)" } ?? "")") }
        let events = try await delegate.completion()
        let code = URLError.Code.networkConnectionLost
        #expect(Set(events.map { "\($0)" }).count == 4)
        #expect(events.first == .opened(nil))
        #expect(events.last == .completed(code))
        #expect(events.contains(.noted("receive \(code.rawValue)")))
        #expect(events.contains(.noted("ping \(code.rawValue)")))
        #expect(task.closeCode == .abnormalClosure)
    }

    @Test("A handler that cancels the task because its call has failed doesn't change the task's error")
    func cancelledAfterFailure() async throws {
        let rig = try WebSocketRig { event in
            if case .received = event { [.close] } else { [] }
        }
        defer { rig.stop() }
        let (task, delegate) = (rig.task, rig.delegate)
        task.receive { _ in task.cancel() }
        task.sendPing { _ in }
        let events = try await delegate.completion()
        #expect(events.last == .completed(.networkConnectionLost))
        #expect((task.error as? URLError)?.code == .networkConnectionLost)
    }

    @Test("A handler that cancels the task after the server's close doesn't change the task's success")
    func cancelledAfterClose() async throws {
        let server = try LoopbackServer.forWebSockets { event in
            if case .opened = event { [.frame(.close(1000)), .close] } else { [] }
        }
        defer { server.stop() }
        let delegate = WebSocketDelegate()
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let task = session.webSocketTask(with: server.webSocketURL())
        task.receive { _ in task.cancel() }
        task.resume()
        #expect(try await delegate.completion() == [.opened(nil), .closed(1000, reason: ""), .completed(nil)])
        #expect(task.error == nil)
    }

    @Test("Cancelling says good-bye, and completes at once", arguments: [true, false])
    func cancel(isOpen: Bool) async throws {
        let frames = Watched<[Frame]>([])
        let server = try LoopbackServer { request in
            guard isOpen else { return .raw([.never]) }
            return .webSocket(request) { event in
                if case .received(let frame) = event { frames.update { $0.append(frame) } }
                return []
            }
        }
        defer { server.stop() }
        let delegate = WebSocketDelegate()
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let task = session.webSocketTask(with: server.webSocketURL())
        task.resume()
        if isOpen { try await delegate.opening() } else { _ = try await server.requestHead(number: 1) }
        task.cancel()
        let events = try await delegate.completion()
        #expect(events.last == .completed(.cancelled))
        #expect(await task.receiveError()?.code == .cancelled)
        if isOpen { try await frames.wait { $0.map(\.closeCode) == [1001] } }
        try await server.waitUntilNoConnections()
    }

    @Test("A message after cancel isn't sent, although the loop hasn't cancelled the task yet")
    func sendAfterCancel() async throws {
        let frames = Watched<[Frame]>([])
        let rig = try WebSocketRig(configure: { $0.curl.runsTasksOnEventLoop = true }) { event in
            if case .received(let frame) = event { frames.update { $0.append(frame) } }
            return []
        }
        defer { rig.stop() }
        let (task, delegate) = (rig.task, rig.delegate)
        try await delegate.opening()
        // On the loop, which has to wait for the end of this.
        await withTaskExecutorPreference(rig.session.taskExecutor) {
            task.cancel()
            task.send(.string("late")) { delegate.note(($0 as? URLError)?.code == .cancelled ? "failed" : "sent") }
        }
        #expect(try await delegate.completion() == [.opened(nil), .noted("failed"), .completed(.cancelled)])
        try await frames.wait { $0.last?.closeCode == 1001 }
        #expect(frames.value.count == 1)
    }

    @Test("Closing before the web socket is open cancels the task")
    func closeEarly() async throws {
        let server = try LoopbackServer { _ in .raw([.never]) }
        defer { server.stop() }
        let delegate = WebSocketDelegate()
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let task = session.webSocketTask(with: server.webSocketURL())
        task.resume()
        _ = try await server.requestHead(number: 1)
        task.cancel(with: .goingAway, reason: nil)
        #expect(try await delegate.completion() == [.completed(.cancelled)])
        #expect(task.closeCode == .goingAway)
    }

    @Test("Finishing a session waits for its web sockets, and invalidating cancels them")
    func sessionEnds() async throws {
        let server = try LoopbackServer { .webSocketEcho($0) }
        defer { server.stop() }
        let delegate = WebSocketDelegate()
        let session = URLSession.forTest(delegate: delegate)
        let task = session.webSocketTask(with: server.webSocketURL())
        task.resume()
        try await delegate.opening()
        session.finishTasksAndInvalidate()
        try await task.send(.string("still there"))
        #expect(try await task.receiveText() == "still there")
        session.invalidateAndCancel()
        try await delegate.wait { $0 == .becameInvalid }
        #expect(delegate.events == [.opened(nil), .completed(.cancelled), .becameInvalid])
        try await server.waitUntilNoConnections()
    }
}

extension Result {
    fileprivate var failureCode: URLError.Code? {
        if case .failure(let error) = self { (error as? URLError)?.code } else { nil }
    }
}
