import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("What HTTP/2 servers allow", .timeLimit(.minutes(1)))
struct HTTP2LimitTests {
    private static let content = GeneratedBody.bytes(seed: 33, length: 100_000)

    /// Makes `count` requests, so many at once, and returns how many were answered with `text`, and what the others got.
    private static func load(
        _ count: Int,
        atOnce: Int,
        in session: URLSession,
        expecting text: String,
        _ request: @escaping @Sendable (Int) -> URLRequest
    ) async -> (answered: Int, errors: [String?]) {
        var results: [HandlerResult] = []
        await withTaskGroup(of: HandlerResult.self) { group in
            for number in 0..<count {
                if number >= atOnce, let result = await group.next() { results.append(result) }
                group.addTask { await session.load(request(number)) }
            }
            for await result in group { results.append(result) }
        }
        let others = results.filter { $0.text != text }
        return (results.count - others.count, others.map { $0.error?.curlText ?? $0.text })
    }

    @Test(
        "If the server allows few requests at once, the others wait or go to other connections, and none is lost",
        arguments: [1, 2, 10]
    )
    func fewStreams(limit: UInt32) async throws {
        let server = try ScriptedHTTP2Server(maximumStreams: limit, refusesMore: true) { _ in
            ScriptedHTTP2Server.text("hello")
        }
        defer { server.stop() }
        let session = try NginxHTTP2.shared().session()
        defer { session.invalidateAndCancel() }
        let url = server.url()
        let result = await Self.load(200, atOnce: 200, in: session, expecting: "hello") { _ in URLRequest(url: url) }
        #expect(result.answered == 200, "\(result.errors)")
    }

    @Test(
        "A server refuses no request if the session puts no more on each connection than it allows",
        arguments: [1, 2, 10]
    )
    func knownLimit(limit: Int) async throws {
        let server = try ScriptedHTTP2Server(maximumStreams: UInt32(limit), refusesMore: true) { _ in
            ScriptedHTTP2Server.text("hello")
        }
        defer { server.stop() }
        let session = URLSession.forTest {
            $0.urlCache = nil
            $0.curl.httpVersion = .http2PriorKnowledge
            $0.curl.maximumStreamsPerConnection = limit
        }
        defer { session.invalidateAndCancel() }
        let url = server.url()
        let result = await Self.load(200, atOnce: 200, in: session, expecting: "hello") { _ in URLRequest(url: url) }
        #expect(result.answered == 200, "\(result.errors)")
        #expect(server.state.value.refusals == 0)
        #expect(server.state.value.requests.count == 200)
    }

    @Test("No more connections are opened than the session allows, however few requests the server allows on each")
    func fewConnections() async throws {
        let gate = Gate()
        let server = try LoopbackServer { _ in .text("hello").after([.waitFor(gate)]) }
        defer { server.stop() }
        let session = try NginxHTTP2.shared().session { $0.httpMaximumConnectionsPerHost = 3 }
        defer { session.invalidateAndCancel() }
        let url = try NginxHTTP2.shared().url(.fourStreams, "/proxy/\(server.port)/")
        async let result = Self.load(300, atOnce: 300, in: session, expecting: "hello") { _ in URLRequest(url: url) }
        try await server.waitForRequests(3 * 4)
        #expect(await session.connections.map(\.open) == [3])
        #expect(server.requestCount == 3 * 4)
        gate.open()
        let (answered, errors) = await result
        #expect(answered == 300, "\(errors)")
    }

    @Test("A request that waits for room on a connection isn't timed out")
    func waitingForRoom() async throws {
        let gate = Gate()
        let server = try ScriptedHTTP2Server(maximumStreams: 1) { request in
            guard request.number == 2 else { return ScriptedHTTP2Server.text("hello") }
            return [.waitFor(gate)] + ScriptedHTTP2Server.text("slow")
        }
        defer { server.stop() }
        let silent = try LoopbackServer.deaf()
        defer { silent.stop() }
        let session = URLSession.forTest {
            $0.httpMaximumConnectionsPerHost = 1
            $0.timeoutIntervalForRequest = 2
            $0.curl.httpVersion = .http2PriorKnowledge
        }
        defer { session.invalidateAndCancel() }
        let (url, patient) = (server.url(), URLRequest(server.url(), timeout: 50))
        #expect(await session.load(url).text == "hello")
        async let slow = session.load(patient)
        try await server.state.wait { $0.requests.count == 2 }
        async let waiting = session.load(url)
        // Begins later than the one that waits, and waits longer for its server.
        let clock = await session.load(URLRequest(silent.url("/"), timeout: 3))
        #expect(clock.error?.code == .timedOut)
        #expect(server.state.value.connections == 1)
        gate.open()
        #expect(await slow.text == "slow")
        #expect(await waiting.text == "hello")
    }

    @Test(
        "Requests beyond the streams that nginx allows wait, and none is lost",
        arguments: [NginxHTTP2.Listener.oneStream, .fourStreams]
    )
    func nginx(listener: NginxHTTP2.Listener) async throws {
        let session = try NginxHTTP2.shared().session()
        defer { session.invalidateAndCancel() }
        let url = try NginxHTTP2.shared().url(listener, NginxSite.smallPath)
        let result = await Self.load(200, atOnce: 200, in: session, expecting: NginxSite.smallText) { _ in
            URLRequest(url: url)
        }
        #expect(result.answered == 200, "\(result.errors)")
    }

    @Test("A server that ends each connection after ten requests loses none", arguments: ["GET", "POST"])
    func fewRequests(method: String) async throws {
        let server = try LoopbackServer { .text("\($0.body == (method == "GET" ? Data() : Self.content))") }
        defer { server.stop() }
        let session = try NginxHTTP2.shared().session()
        defer { session.invalidateAndCancel() }
        let url = try NginxHTTP2.shared().url(.tenRequests, "/proxy/\(server.port)/")
        let result = await Self.load(500, atOnce: 64, in: session, expecting: "true") { _ in
            URLRequest(url, method: method, body: method == "GET" ? nil : Self.content)
        }
        #expect(result.answered == 500, "\(result.errors)")
        #expect(server.requestCount == 500)
    }
}
