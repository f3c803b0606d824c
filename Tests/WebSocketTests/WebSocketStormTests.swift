import CurlNetworking
import CurlNetworkingLoopbackServer
import Foundation
import TestSupport
import Testing

@Suite("Storms of web sockets", .timeLimit(.minutes(10)))
struct WebSocketStormTests {
    /// `WEBSOCKET_STORM=10000` for a long one.
    private static let count = ProcessInfo.processInfo.environment["WEBSOCKET_STORM"].flatMap { Int($0) } ?? 300

    @Test("Web sockets ended at random moments neither leak nor hang, and every handler is called once")
    func storm() async {
        await #expect(processExitsWith: .success) {
            let server = try LoopbackServer { $0.path == "/no" ? .status(404) : .webSocketEcho($0) }
            // What is made once and kept.
            try await Self.storm(of: Self.count / 5, to: server, seed: 41)
            let added = try await ProcessUsage.added { try await Self.storm(of: Self.count, to: server, seed: 42) }
            #expect(added.descriptors <= 0)
            #expect(added.threads <= 4)
            #expect(added.resident < ProcessUsage.growth(of: 12 << 20))
            server.stop()
        }
    }

    private static func storm(of count: Int, to server: LoopbackServer, seed: UInt64) async throws {
        let calls = Watched<[Int: Int]>([:])
        let delegate = CountingDelegate()
        let session = URLSession.forTest(delegate: delegate) { $0.httpMaximumConnectionsPerHost = 50 }
        var random = SeededGenerator(seed: seed)
        // Those that are open, or may be.
        var tasks: [URLSessionWebSocketTask] = []
        for number in 0..<count {
            let task = session.webSocketTask(with: server.webSocketURL(number % 17 == 0 ? "/no" : "/"))
            let key = 10 * number
            @Sendable func note(_ index: Int) { calls.update { $0[key + index, default: 0] += 1 } }
            for index in 0..<3 {
                task.send(.string("message \(index)")) { _ in note(index) }
                task.receive { _ in note(3 + index) }
            }
            task.sendPing { _ in note(6) }
            task.resume()
            switch Int.random(in: 0..<6, using: &random) {
            case 0: task.cancel()
            case 1: task.cancel(with: .normalClosure, reason: Data("r".utf8))
            case 2:
                task.suspend()
                task.resume()
            default: break
            }
            // Some have time to talk.
            if number % 5 == 0 { try? await task.sendPing() }
            tasks.append(task)
            guard tasks.count == 40 else { continue }
            let ending = tasks.remove(at: Int.random(in: 0..<40, using: &random))
            if Bool.random(using: &random) { ending.cancel(with: .goingAway, reason: nil) } else { ending.cancel() }
        }
        for task in tasks { task.cancel() }
        session.finishTasksAndInvalidate()
        try await delegate.invalidated.wait()
        let total = 7 * count
        try await calls.wait { $0.count == total }
        #expect(calls.value.values.allSatisfy { $0 == 1 })
        #expect(delegate.completions.value.count == count)
        #expect(delegate.completions.value.values.allSatisfy { $0 == 1 })
        try await server.waitUntilNoConnections()
    }

    @Test("Invalidating a session amid everything ends everything", arguments: 0..<5)
    func invalidation(round: Int) async throws {
        let server = try LoopbackServer { .webSocketEcho($0) }
        defer { server.stop() }
        let delegate = CountingDelegate()
        let session = URLSession.forTest(delegate: delegate)
        let ended = Watched(0)
        for _ in 0..<30 {
            let task = session.webSocketTask(with: server.webSocketURL())
            task.resume()
            Task {
                do {
                    while true {
                        try await task.send(.string("a"))
                        _ = try await task.receive()
                    }
                } catch {
                    ended.update { $0 += 1 }
                }
            }
        }
        try await server.waitForRequests(6 * round + 1)
        session.invalidateAndCancel()
        try await delegate.invalidated.wait()
        try await ended.wait { $0 == 30 }
        #expect(delegate.completions.value.count == 30)
        try await server.waitUntilNoConnections()
    }
}

private final class CountingDelegate: NSObject, URLSessionWebSocketDelegate {
    let completions = Watched<[Int: Int]>([:])
    let invalidated = Gate()

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        completions.update { $0[task.taskIdentifier, default: 0] += 1 }
    }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        invalidated.open()
    }
}
