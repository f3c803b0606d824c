import Foundation
import Testing

@testable import CurlNetworkingLoopbackServer

@Suite("The loopback server's life", .timeLimit(.minutes(1)))
struct LoopbackServerLifeTests {
    typealias Client = LoopbackServerRawClient

    @Test("Two thousand connections are served at the same time")
    func manyConnections() async throws {
        let gate = Gate()
        let server = try LoopbackServer { request in
            LoopbackServer.Response.text(request.path).after([.waitFor(gate)])
        }
        defer { server.stop() }
        let clients = try (0..<2000).map { number in
            let client = try Client(port: server.port)
            client.get("/\(number)")
            return client
        }
        try await server.waitForRequests(2000)
        #expect(server.openConnections == 2000)
        gate.open()
        for (number, client) in clients.enumerated() { #expect(client.receiveAnswer()?.text == "/\(number)") }
        for client in clients { client.close() }
        try await server.waitUntilNoConnections()
    }

    @Test("stop() closes every connection and the port before it returns, as often as it's called")
    func stop() async throws {
        let server = try LoopbackServer { $0.path == "/never" ? .never : .generated(length: 1 << 40) }
        let (idle, silent, busy) = (
            try Client(port: server.port), try Client(port: server.port), try Client(port: server.port)
        )
        silent.get("/never")
        busy.get("/busy")
        try await server.waitForRequests(2)
        try await server.waitForConnections(3)
        server.stop()
        server.stop()
        #expect(server.openConnections == 0)
        #expect(server.blockedConnections == 0)
        for client in [idle, silent, busy] { #expect(client.receiveAll().ending != nil) }
        #expect(throws: Client.ConnectionFailed.self) { try Client(port: server.port) }
        #expect(server.dropIdleConnections() == 0)
    }

    @Test("A server that is released stops")
    func deinitStops() throws {
        let port = try LoopbackServer { _ in .status(200) }.port
        #expect(throws: Client.ConnectionFailed.self) { try Client(port: port) }
    }

    @Test("The handler may stop its server")
    func stopFromHandler() async throws {
        let box = Locked<LoopbackServer?>(nil)
        let server = try LoopbackServer { _ in
            box.withLock { $0 }?.stop()
            return .never
        }
        box.withLock { $0 = server }
        let client = try Client(port: server.port)
        client.get("/")
        #expect(client.receiveAll().ending == .finished)
        box.withLock { $0 = nil }
        server.stop()
    }

    @Test("A caller that waits for something that won't happen any more is told so")
    func waitingEnds() async throws {
        let server = try LoopbackServer { _ in .status(200) }
        let waiter = Task { try await server.waitForRequests(1) }
        server.stop()
        await #expect(throws: CancellationError.self) { try await waiter.value }
        await #expect(throws: CancellationError.self) { try await server.request(number: 1) }
        let cancelled = Task { try await server.waitForConnections(1) }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
    }

    @Test("Idle connections can be dropped, and busy ones aren't")
    func dropIdle() async throws {
        let gate = Gate()
        let server = try LoopbackServer { request in
            request.path == "/slow" ? LoopbackServer.Response.text("slow").after([.waitFor(gate)]) : .text("fast")
        }
        defer { server.stop() }
        let (idle, busy) = (try Client(port: server.port), try Client(port: server.port))
        idle.get("/fast")
        #expect(idle.receiveAnswer()?.text == "fast")
        busy.get("/slow")
        try await server.waitForRequests(2)
        #expect(server.dropIdleConnections() == 1)
        #expect(server.openConnections == 1)
        #expect(idle.receiveAll().ending == .finished)
        gate.open()
        #expect(busy.receiveAnswer()?.text == "slow")
        #expect(server.resetConnections() == 1)
        #expect(busy.receiveAll().ending == .reset)
    }

    @Test("A server that has stopped listening refuses, and serves whom it has")
    func stopListening() throws {
        let server = try LoopbackServer { _ in .text("still here") }
        defer { server.stop() }
        let client = try Client(port: server.port)
        client.get("/")
        #expect(client.receiveAnswer() != nil)
        server.stopListening()
        let failure = #expect(throws: Client.ConnectionFailed.self) { try Client(port: server.port) }
        #expect(failure?.code == ECONNREFUSED)
        client.get("/")
        #expect(client.receiveAnswer()?.text == "still here")
    }

    @Test("URLs name address, port and path")
    func urls() throws {
        let server = try LoopbackServer { _ in .status(200) }
        defer { server.stop() }
        #expect(server.url.absoluteString == "http://127.0.0.1:\(server.port)")
        #expect(server.url("/a/b?c=d").absoluteString == "http://127.0.0.1:\(server.port)/a/b?c=d")
        #expect(server.url("a").absoluteString == "http://127.0.0.1:\(server.port)/a")
        #expect(throws: LoopbackServer.SocketError.self) { try LoopbackServer(host: "nowhere") { _ in .status(200) } }
        #expect(throws: LoopbackServer.SocketError.self) { try LoopbackServer(port: server.port) { _ in .status(200) } }
        #expect(throws: LoopbackServer.SocketError.self) { try LoopbackServer(port: 70_000) { _ in .status(200) } }
    }
}
