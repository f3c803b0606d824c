import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("The priority of waiting requests", .timeLimit(.minutes(1)))
struct TaskPriorityTests {
    @Test("Of those that wait for a connection, the highest priority goes first, and equals in order of resuming")
    func order() async throws {
        let gate = Gate()
        let delegate = RecordingDelegate()
        let rig = try Rig(delegate: delegate) { request in
            request.path == "/first" ? .text("hello").after([.waitFor(gate)]) : .text("hello")
        } configure: {
            $0.useOneConnection()
        }
        defer { rig.stop() }
        let first = rig.session.dataTask(with: rig.url("/first"))
        first.resume()
        try await rig.server.waitForRequests(1)
        let waiting: [(String, Float)] = [
            ("/low", URLSessionTask.lowPriority), ("/default1", URLSessionTask.defaultPriority),
            ("/high", URLSessionTask.highPriority), ("/default2", URLSessionTask.defaultPriority), ("/highest", 1),
        ]
        let tasks = waiting.map { path, priority in
            let task = rig.session.dataTask(with: rig.url(path))
            task.priority = priority
            task.resume()
            return task
        }
        // The loop has seen them all when it has finished this.
        await rig.session.flush()
        gate.open()
        for task in tasks { _ = try await delegate.completion(of: task) }
        #expect(rig.server.requests.map(\.path) == ["/first", "/highest", "/high", "/default1", "/default2", "/low"])
    }

    @Test("The priority of a waiting request can change, up, down and to NaN", arguments: [1, 4])
    func change(loops: Int) async throws {
        let gate = Gate()
        let delegate = RecordingDelegate()
        let rig = try Rig(delegate: delegate) { request in
            request.path == "/first" ? .text("hello").after([.waitFor(gate)]) : .text("hello")
        } configure: {
            $0.useOneConnection()
            $0.curl.eventLoops = loops
        }
        defer { rig.stop() }
        let first = rig.session.dataTask(with: rig.url("/first"))
        first.resume()
        try await rig.server.waitForRequests(1)
        let tasks = (1...5).map { rig.session.dataTask(with: rig.url("/\($0)")) }
        for task in tasks { task.resume() }
        await rig.session.flush()
        tasks[4].priority = 1
        tasks[0].priority = 0
        tasks[2].priority = URLSessionTask.highPriority
        tasks[1].priority = .nan
        // Running already: nothing changes.
        first.priority = 0
        #expect(tasks[4].priority == 1)
        await rig.session.flush()
        gate.open()
        for task in tasks { _ = try await delegate.completion(of: task) }
        #expect(rig.server.requests.map(\.path) == ["/first", "/5", "/3", "/2", "/4", "/1"])
    }

    @Test("With one connection for all hosts, priorities count among them all")
    func acrossHosts() async throws {
        let gate = Gate()
        let servers = try (0..<3).map { _ in
            try LoopbackServer { request in
                request.path == "/first" ? .text("hello").after([.waitFor(gate)]) : .text("hello")
            }
        }
        defer { for server in servers { server.stop() } }
        let order = Watched<[Int]>([])
        let session = URLSession.forTest {
            $0.useOneConnection()
            $0.curl.maximumConnections = 1
            $0.curl.eventLoops = 1
        }
        defer { session.invalidateAndCancel() }
        session.dataTask(with: servers[0].url("/first")).resume()
        try await servers[0].waitForRequests(1)
        let tasks = (0..<3).map { number in
            session.dataTask(with: servers[number].url("/")) { _, _, _ in order.update { $0.append(number) } }
        }
        for task in tasks { task.resume() }
        await session.flush()
        tasks[2].priority = 1
        tasks[0].priority = 0
        await session.flush()
        gate.open()
        try await order.wait { $0.count == 3 }
        #expect(order.value == [2, 1, 0])
    }
}
