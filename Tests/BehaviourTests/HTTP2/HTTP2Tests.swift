import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("HTTP/2 over TLS", .timeLimit(.minutes(1)))
struct HTTP2Tests {
    /// What the helper tells of a burst.
    struct Burst {
        /// Status and version of each.
        var answers: [String] = []
        var connections: Set<String> = []
        var snapshot = ""

        init(_ url: URL, _ count: Int, _ words: String...) async throws {
            let nginx = try NginxHTTP2.shared()
            let helper = try NginxTrust(nginx.site).startHelper(["burst", url.absoluteString, "\(count)"] + words)
            for line in await helper.remainingLines() {
                let parts = line.split(separator: " ").map(String.init)
                if parts.first == "open" {
                    snapshot = line
                } else {
                    answers.append(parts.prefix(2).joined(separator: " "))
                    if parts.count > 2 { connections.insert(parts[2]) }
                }
            }
            #expect(await helper.ending() == .exit(0))
        }
    }

    @Test("A burst to a host not yet known makes one handshake, and all share its connection", .needsTrust)
    func burst() async throws {
        let burst = try await Burst(NginxHTTP2.shared().url(.tls, NginxSite.smallPath), 50)
        #expect(burst.answers == Array(repeating: "200 HTTP/2.0", count: 50))
        #expect(burst.connections.count == 1)
        #expect(burst.snapshot == "open 1 reused 49 h2")
    }

    @Test("Of 350 requests at once, a hundred share each connection, and no more are opened than needed", .needsTrust)
    func many() async throws {
        let gate = Gate()
        let server = try LoopbackServer { _ in .text("hello").after([.waitFor(gate)]) }
        defer { server.stop() }
        let url = try NginxHTTP2.shared().url(.tls, "/proxy/\(server.port)/")
        async let burst = Burst(url, 350)
        try await server.waitForRequests(350)
        gate.open()
        let result = try await burst
        #expect(result.answers == Array(repeating: "200 HTTP/2.0", count: 350))
        #expect(result.connections.count == 4)
    }

    @Test("Other requests wait for the first one's handshake, and not for its answer", .needsTrust)
    func slowFirst() async throws {
        let gate = Gate()
        let server = try LoopbackServer { _ in .text("hello").after([.waitFor(gate)]) }
        defer { server.stop() }
        let url = try NginxHTTP2.shared().url(.tls, "/proxy/\(server.port)/")
        async let burst = Burst(url, 20)
        try await server.waitForRequests(20)
        gate.open()
        #expect(try await burst.connections.count == 1)
    }

    @Test("A host that turns out to speak HTTP/1.1 gets all its connections after the handshake", .needsTrust)
    func slowFirstHTTP1() async throws {
        let gate = Gate()
        let server = try LoopbackServer { _ in .text("hello").after([.waitFor(gate)]) }
        defer { server.stop() }
        let url = try NginxHTTP2.shared().url(.tlsHTTP1, "/proxy/\(server.port)/")
        async let burst = Burst(url, 12)
        try await server.waitForRequests(6)
        gate.open()
        let result = try await burst
        #expect(result.answers == Array(repeating: "200 HTTP/1.1", count: 12))
        #expect(result.connections.count == 6)
        #expect(result.snapshot == "open 6 reused 6 http/1.1")
    }

    @Test("More connections are opened when the server's limit of requests on each is reached", .needsTrust)
    func streamLimit() async throws {
        let gate = Gate()
        let server = try LoopbackServer { _ in .text("hello").after([.waitFor(gate)]) }
        defer { server.stop() }
        let url = try NginxHTTP2.shared().url(.fourStreams, "/proxy/\(server.port)/")
        async let burst = Burst(url, 16)
        try await server.waitForRequests(16)
        gate.open()
        let result = try await burst
        #expect(result.answers == Array(repeating: "200 HTTP/2.0", count: 16))
        #expect((4...16).contains(result.connections.count))
        #expect(server.requestCount == 16)
    }

    @Test("A host can be kept at HTTP/1.1", .needsTrust)
    func off() async throws {
        let burst = try await Burst(NginxHTTP2.shared().url(.tls, NginxSite.smallPath), 3, "http1")
        #expect(burst.answers == Array(repeating: "200 HTTP/1.1", count: 3))
        #expect(burst.snapshot.hasSuffix(" http/1.1"))
    }

    @Test("If the handshake fails, each request that waited for it fails for itself")
    func failingHandshake() async throws {
        let url = try NginxHTTP2.shared().url(.tls, NginxSite.smallPath)
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        await withTaskGroup(of: URLError.Code?.self) { group in
            for _ in 0..<20 { group.addTask { await session.load(url).error?.code } }
            for await code in group { #expect(code == .serverCertificateHasUnknownRoot) }
        }
    }

    @Test("If nothing listens at the port, each request that waited for the connection fails for itself")
    func refused() async throws {
        let url = try #require(URL(string: "https://127.0.0.1:\(LoopbackServer.refusingPort())/"))
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        await withTaskGroup(of: URLError.Code?.self) { group in
            for _ in 0..<20 { group.addTask { await session.load(url).error?.code } }
            for await code in group { #expect(code == .cannotConnectToHost) }
        }
    }

    @Test("If the first request is cancelled in its handshake, the next one makes a handshake")
    func cancelledHandshake() async throws {
        // Takes connections, and never says a word.
        let silence = try SilentServer()
        defer { silence.stop() }
        // No look into a cache lets one overtake another.
        let session = URLSession.forTest { $0.urlCache = nil }
        defer { session.invalidateAndCancel() }
        let url = try #require(URL(string: "https://127.0.0.1:\(silence.port)/"))
        let tasks = (0..<3).map { _ in session.dataTask(with: url) { _, _, _ in } }
        for task in tasks { task.resume() }
        try await silence.waitForConnections(1)
        await session.flush()
        #expect(await session.connections.map(\.waiting) == [2])
        tasks[0].cancel()
        try await silence.waitForConnections(2)
        await session.flush()
        #expect(await session.connections.map(\.waiting) == [1])
    }
}
