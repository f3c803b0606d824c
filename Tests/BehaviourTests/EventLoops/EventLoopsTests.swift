import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("A session with several event loops", .timeLimit(.minutes(1)))
struct EventLoopsTests {
    /// Which loop each server's origin is bound to; nil for one that the session knows nothing of.
    private static func loops(of servers: [LoopbackServer], in session: URLSession) async -> [Int?] {
        let connections = await session.connections
        return servers.map { server in connections.first { $0.port == server.port }?.eventLoop }
    }

    @Test("Hosts take the loops in turn, and each stays on its own", arguments: [1, 2, 3, 64])
    func spread(count: Int) async throws {
        let servers = try (0..<5).map { _ in try LoopbackServer { _ in .text("hello") } }
        defer { for server in servers { server.stop() } }
        let session = URLSession.forTest { $0.curl.eventLoops = count }
        defer { session.invalidateAndCancel() }
        for _ in 0..<3 {
            for server in servers { #expect(await session.load(server.url("/")).text == "hello") }
        }
        #expect(await Self.loops(of: servers, in: session) == (0..<5).map { $0 % count })
        #expect(servers.map(\.connectionCount) == [1, 1, 1, 1, 1])
    }

    @Test("By default a session has one event loop")
    func standard() async throws {
        #expect(URLSessionConfiguration.default.curl.eventLoops == 1)
        let servers = try (0..<3).map { _ in try LoopbackServer { _ in .text("hello") } }
        defer { for server in servers { server.stop() } }
        let session = URLSession(configuration: .ephemeral)
        defer { session.invalidateAndCancel() }
        for server in servers { _ = try await session.data(from: server.url("/")) }
        #expect(await Self.loops(of: servers, in: session) == [0, 0, 0])
    }

    @Test("A loop that is held up holds up its own hosts alone")
    func heldUp() async throws {
        let servers = try (0..<2).map { _ in try LoopbackServer { _ in .text("hello") } }
        defer { for server in servers { server.stop() } }
        let hold = LoopHold()
        let session = URLSession.forTest { configuration in
            configuration.curl.eventLoops = 2
            hold.install(in: configuration)
        }
        defer { session.invalidateAndCancel() }
        async let held = session.load(servers[0].url("/hold"))
        try await hold.isHeldUp.wait()
        // With one loop, these would never end.
        for _ in 0..<3 { #expect(await session.load(servers[1].url("/")).text == "hello") }
        #expect(servers[0].requestCount == 0)
        hold.end()
        #expect(await held.text == "hello")
    }

    @Test("A session with several event loops loads URLs without a host as well")
    func noHost() async throws {
        let directory = try TemporaryDirectory()
        let file = try directory.file("file", Data("file".utf8))
        let session = URLSession.forTest { $0.curl.eventLoops = 4 }
        defer { session.invalidateAndCancel() }
        let text = try #require(URL(string: "data:text/plain,text"))
        #expect(await session.load(text).text == "text")
        #expect(await session.load(file).text == "file")
        let nowhere = try #require(URL(string: "http:///path"))
        #expect(await session.load(nowhere).error?.code == .badURL)
    }

    @Test("Priorities count at each host, whichever loop it is on")
    func priorities() async throws {
        let gate = Gate()
        let servers = try (0..<3).map { _ in
            try LoopbackServer { $0.path == "/first" ? .text("first").after([.waitFor(gate)]) : .text("hello") }
        }
        defer { for server in servers { server.stop() } }
        let delegate = RecordingDelegate()
        let session = URLSession.forTest(delegate: delegate) { configuration in
            configuration.useOneConnection()
            configuration.curl.eventLoops = 3
        }
        defer { session.invalidateAndCancel() }
        var tasks: [URLSessionTask] = []
        for server in servers {
            for (path, priority) in [("/first", 1), ("/low", 0.2), ("/default", 0.5), ("/high", 0.8)] as [(_, Float)] {
                let task = session.dataTask(with: server.url(path))
                task.priority = priority
                task.resume()
                tasks.append(task)
            }
        }
        for server in servers { try await server.waitForRequests(1) }
        // All loops have seen them all when they have finished this.
        await session.flush()
        gate.open()
        for task in tasks { try await delegate.success(of: task) }
        for server in servers { #expect(server.requests.map(\.path) == ["/first", "/high", "/default", "/low"]) }
    }

    @Test("A proxy's credential is asked for once, however many loops have to do with it")
    func proxyCredential() async throws {
        let proxy = try ScriptedProxy.guarded()
        defer { proxy.stop() }
        let everybodyWaits = Gate()
        let delegate = DecidingDelegate(onChallenge: { challenge in
            everybodyWaits.whenOpen { challenge.answer(.useCredential, .right()) }
        })
        let configuration = URLSessionConfiguration.ephemeral
        configuration.curl.eventLoops = 3
        configuration.curl.proxy = .server(proxy.settings())
        let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
        defer { session.invalidateAndCancel() }
        let hosts = (0..<12).map { "http://host\($0).example/" }
        let tasks = hosts.map { session.dataTask(with: Self.url($0)) }
        for task in tasks { task.resume() }
        try await proxy.server.waitForRequests(tasks.count)
        try await delegate.challenges.wait { !$0.isEmpty }
        await session.flush()
        everybodyWaits.open()
        try await delegate.record.wait { $0.completions.count == tasks.count }
        #expect(delegate.challenges.value.count == 1)
        for (task, host) in zip(tasks, hosts) {
            #expect(delegate.body(of: task) == Data("openly \(host)".utf8))
        }
    }

    private static func url(_ text: String) -> URL {
        URL(string: text) ?? URL(fileURLWithPath: "/")
    }
}
