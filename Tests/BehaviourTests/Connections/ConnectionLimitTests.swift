import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("The limit of connections to a host", .timeLimit(.minutes(1)))
struct ConnectionLimitTests {
    @Test(
        "No more connections are opened than the limit says, and waiting requests are sent as others finish",
        arguments: [1, 3, 6]
    )
    func limit(count: Int) async throws {
        let gate = Gate()
        let delegate = RecordingDelegate()
        let rig = try Rig(delegate: delegate) { request in
            request.path == "/other" ? .text("other") : .text("hello").after([.waitFor(gate)])
        } configure: {
            $0.httpMaximumConnectionsPerHost = count
            $0.urlCache = nil
        }
        defer { rig.stop() }
        let tasks = (0..<20).map { _ in rig.session.dataTask(with: rig.url("/")) }
        for task in tasks { task.resume() }
        try await rig.server.waitForRequests(count)
        await rig.session.flush()
        #expect(rig.server.requestCount == count)
        #expect(rig.server.connectionCount == count)
        #expect(tasks.allSatisfy { $0.state == .running })
        gate.open()
        for task in tasks { try await delegate.success(of: task) }
        #expect(rig.server.connectionCount <= count * 2)
        #expect(rig.server.requestCount == 20)
    }

    @Test("The default is six connections to a host")
    func standard() async throws {
        #expect(URLSessionConfiguration.default.httpMaximumConnectionsPerHost == 6)
        #expect(URLSessionConfiguration.ephemeral.httpMaximumConnectionsPerHost == 6)
    }

    @Test("The limit is one of open connections at any time, not only of requests")
    func neverMore() async throws {
        let most = Watched(0)
        let holder = Watched<LoopbackServer?>(nil)
        let server = try LoopbackServer { _ in
            let open = holder.value?.openConnections ?? 0
            most.update { $0 = max($0, open) }
            return .text("hello")
        }
        holder.update { $0 = server }
        defer {
            holder.update { $0 = nil }
            server.stop()
        }
        let session = URLSession.forTest {
            $0.httpMaximumConnectionsPerHost = 2
            $0.urlCache = nil
        }
        defer { session.invalidateAndCancel() }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<100 { group.addTask { _ = try? await session.data(from: server.url("/")) } }
        }
        #expect(most.value >= 1 && most.value <= 2)
        #expect(server.connectionCount <= 2)
    }

    @Test("Hosts don't wait for each other, and ports count as hosts")
    func otherHosts() async throws {
        let busy = try LoopbackServer { _ in .never }
        let free = try LoopbackServer { _ in .text("hello") }
        defer { for server in [busy, free] { server.stop() } }
        let session = URLSession.forTest { $0.useOneConnection() }
        defer { session.invalidateAndCancel() }
        session.dataTask(with: busy.url("/")).resume()
        session.dataTask(with: busy.url("/")).resume()
        try await busy.waitForRequests(1)
        let (data, _) = try await session.data(from: free.url("/"))
        #expect(data == Data("hello".utf8))
    }

    @Test("Failed requests make room as well")
    func failures() async throws {
        let rig = try Rig { _ in
            .fault(.beforeAnyByte, then: .reset)
        } configure: {
            $0.useOneConnection()
        }
        defer { rig.stop() }
        await withTaskGroup(of: HandlerResult.self) { group in
            for _ in 0..<20 { group.addTask { await rig.session.load(rig.url("/")) } }
            for await result in group { #expect(result.error?.code == .networkConnectionLost) }
        }
    }
}
