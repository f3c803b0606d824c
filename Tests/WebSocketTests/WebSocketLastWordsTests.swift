import CurlNetworking
import CurlNetworkingLoopbackServer
import Foundation
import TestSupport
import Testing

@Suite("What waits when a web socket ends", .timeLimit(.minutes(2)))
struct WebSocketLastWordsTests {
    private typealias Frame = LoopbackServer.WebSocketFrame

    /// How a web socket comes to its end.
    enum End: CaseIterable, Sendable {
        case closed, broken, lost, reset, cancelled, invalidated

        var code: URLError.Code {
            switch self {
            case .closed, .lost, .reset: .networkConnectionLost
            case .broken: .badServerResponse
            case .cancelled, .invalidated: .cancelled
            }
        }

        fileprivate var steps: [LoopbackServer.Step] {
            switch self {
            case .closed: [.frame(.close(1000)), .close]
            case .broken: [.frame(Frame(3))]
            case .lost: [.close]
            case .reset: [.reset]
            case .cancelled, .invalidated: []
            }
        }

        /// What the program does.
        fileprivate func begin(_ rig: WebSocketRig) {
            switch self {
            case .cancelled: rig.task.cancel()
            case .invalidated: rig.session.invalidateAndCancel()
            case .closed, .broken, .lost, .reset: break
            }
        }
    }

    /// Calls of a web socket's methods, and the errors that they end with.
    private struct Calls: Sendable {
        let task: URLSessionWebSocketTask
        let errors = Watched<[URLError]>([])

        func note(_ error: (any Error)?) {
            errors.update { $0.append(error as? URLError ?? URLError(.unknown)) }
        }

        func makeWithHandlers() {
            task.receive { result in
                if case .failure(let error) = result { note(error) } else { note(nil) }
            }
            // More than the system takes.
            task.send(.data(Data(count: 16 << 20))) { note($0) }
            task.sendPing { note($0) }
        }

        /// Returns when all three have ended.
        func make() async {
            async let receiving: Void = noteFailure { _ = try await task.receive() }
            async let sending: Void = noteFailure { try await task.send(.string("a")) }
            async let pinging: Void = noteFailure { try await task.sendPing() }
            _ = await (receiving, sending, pinging)
        }

        private func noteFailure(of body: @Sendable () async throws -> Void) async {
            do {
                try await body()
                note(nil)
            } catch {
                note(error)
            }
        }
    }

    /// More than is read before the program has taken some.
    @Test(
        "Messages that have come, and the server's status, are not lost when a message can't be sent any more",
        arguments: [[100_000, 100_000, 100_000, 66_000], Array(repeating: 8, count: 20_000)]
    )
    func closedWhileFull(sizes: [Int]) async throws {
        let rig = try WebSocketRig { event in
            guard case .opened = event else { return [] }
            return sizes.map { .frame(.binary(Data(count: $0))) } + [.frame(.close(1000)), .reset]
        }
        defer { rig.stop() }
        let task = rig.task
        try await rig.delegate.opening()
        rig.server.makeRoomAtClients()
        try await rig.server.waitUntilNoConnections()
        await #expect(throws: URLError.self) { while true { try await task.send(.string("unread")) } }
        for size in sizes {
            guard case .data(let data) = try await task.receive() else { throw URLError(.unknown) }
            #expect(data.count == size)
        }
        await #expect(throws: URLError.self) { _ = try await task.receive() }
        #expect(task.closeCode == .normalClosure)
    }

    @Test(
        "All calls that wait when a web socket ends fail once, with the same error, and so do later ones",
        arguments: End.allCases
    )
    func waiting(end: End) async throws {
        let gate = Gate()
        let over = Gate()
        // The server takes nothing until it is over, so that messages are stuck as well.
        let rig = try WebSocketRig { event in
            if case .opened = event {
                [.stopReading, .waitFor(gate)] + end.steps + [.waitFor(over), .resumeReading]
            } else {
                []
            }
        }
        defer { rig.stop() }
        let task = rig.task
        try await rig.delegate.opening()
        let calls = Calls(task: task)
        let errors = calls.errors
        for _ in 0..<3 { calls.makeWithHandlers() }
        async let made: Void = calls.make()
        gate.open()
        end.begin(rig)
        await made
        try await errors.wait { $0.count == 12 }
        let first = try #require(errors.value.first)
        #expect(first.code == end.code)
        #expect(errors.value.allSatisfy { $0 == first && $0.localizedDescription == first.localizedDescription })
        await #expect(throws: first) { try await task.send(.string("late")) }
        await #expect(throws: first) { _ = try await task.receive() }
        await #expect(throws: first) { try await task.sendPing() }
        task.sendPing { calls.note($0) }
        try await errors.wait { $0.count == 13 }
        #expect(errors.value.last == first)
        over.open()
        try await rig.server.waitUntilNoConnections()
    }

    @Test("Handlers are called in the order of the calls, also of those made when the task is over")
    func order() async throws {
        let rig = try WebSocketRig { event in
            if case .opened = event { [.stopReading] } else { [] }
        }
        defer { rig.stop() }
        let (task, delegate, queue) = (rig.task, rig.delegate, rig.session.delegateQueue)
        try await delegate.opening()
        // More than the system takes.
        task.send(.data(Data(count: 64 << 20))) { _ in delegate.note("a") }
        task.send(.string("b")) { _ in delegate.note("b") }
        task.send(.string("c")) { _ in delegate.note("c") }
        queue.isSuspended = true
        task.cancel()
        // A Swift task goes on without the queue.
        await #expect(throws: URLError.self) { try await task.sendPing() }
        task.send(.string("d")) { _ in delegate.note("d") }
        queue.isSuspended = false
        try await delegate.wait { $0 == .noted("d") }
        try await delegate.completion()
        // The session has forgotten the task.
        task.send(.string("e")) { _ in delegate.note("e") }
        task.send(.string("f")) { _ in delegate.note("f") }
        try await delegate.wait { $0 == .noted("f") }
        let notes = delegate.events.compactMap { if case .noted(let name) = $0 { name } else { nil } }
        #expect(notes == ["a", "b", "c", "d", "e", "f"])
    }

    @Test(
        "The statuses of registries and programs go both ways",
        arguments: [1000, 1001, 1003, 1011, 1012, 1013, 1014, 3000, 4999]
    )
    func statuses(status: Int) async throws {
        let answers = Watched<[Int?]>([])
        let server = try LoopbackServer { request in
            .webSocket(request) { event in
                switch event {
                case .opened: return request.path == "/closes" ? [.frame(.close(status, "why"))] : []
                case .received(let frame):
                    answers.update { $0.append(frame.closeCode) }
                    return request.path == "/closes" ? [.close] : [.frame(.close(frame.closeCode, "why")), .close]
                case .finished: return []
                }
            }
        }
        defer { server.stop() }
        for path in ["/closes", "/answers"] {
            let delegate = WebSocketDelegate()
            let session = URLSession.forTest(delegate: delegate)
            defer { session.invalidateAndCancel() }
            let task = session.webSocketTask(with: server.webSocketURL(path))
            task.resume()
            try await delegate.opening()
            if path == "/answers" { task.cancel(withStatus: status, reason: nil) }
            let shown = URLSessionWebSocketTask.CloseCode(rawValue: status) ?? .invalid
            let events = try await delegate.completion()
            #expect(events == [.opened(nil), .closed(shown.rawValue, reason: "why"), .completed(nil)])
            #expect(task.closeStatus == status)
            #expect(task.closeCode == shown)
            #expect(task.closeReason == Data("why".utf8))
        }
        try await answers.wait { $0 == [status, status] }
    }

    @Test(
        "Statuses that may not stand in a frame break the protocol",
        arguments: [0, 999, 1004, 1006, 1015, 1016, 2999, 5000, 65535]
    )
    func invalidStatuses(status: Int) async throws {
        let answers = Watched<[Int?]>([])
        let rig = try WebSocketRig { event in
            switch event {
            case .opened: return [.frame(.close(status))]
            case .received(let frame):
                answers.update { $0.append(frame.closeCode) }
                return [.close]
            case .finished: return []
            }
        }
        defer { rig.stop() }
        let (task, delegate) = (rig.task, rig.delegate)
        #expect(try await delegate.completion() == [.opened(nil), .completed(.badServerResponse)])
        try await answers.wait { $0 == [1002] }
        #expect(task.closeCode == .protocolError)
    }

    @Test("Nothing is left of sessions that are dropped with open web sockets, once their servers hang up")
    func dropped() async {
        await #expect(processExitsWith: .success) {
            let server = try LoopbackServer { request in
                .webSocket(request, headers: [("Sec-WebSocket-Extensions", "permessage-deflate")]) { event in
                    guard case .received(let frame) = event else { return [] }
                    return frame.opcode == LoopbackServer.WebSocketFrame.Opcode.text ? [.close] : []
                }
            }
            func useSession() async throws {
                let released = Gate()
                do {
                    let session = URLSession.forTest(delegate: ReleaseProbe(released))
                    let tasks = (0..<3).map { _ in session.webSocketTask(with: server.webSocketURL()) }
                    for task in tasks {
                        task.receive { _ in }
                        task.sendPing { _ in }
                        task.resume()
                    }
                    tasks[0].cancel()
                    try await tasks[1].send(.string(String(repeating: "a", count: 1000)))
                    try await tasks[2].send(.string("b"))
                    _ = session.webSocketTask(with: server.webSocketURL())
                }
                try await released.wait()
                try await server.waitUntilNoConnections()
            }
            // The first ones start what lives as long as the process.
            for _ in 0..<8 { try await useSession() }
            let added = try await ProcessUsage.added { for _ in 0..<100 { try await useSession() } }
            #expect(added.descriptors <= 0)
            #expect(added.threads <= 4)
            // One web socket's compression left by each session would be 30 MB. The address sanitizer's allocator alone grows by 40 MB, and
            // then no further.
            #expect(added.resident < ProcessUsage.growth(of: 12 << 20))
            server.stop()
        }
    }
}
