import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Limits of connections over several event loops", .timeLimit(.minutes(1)))
struct EventLoopsLimitTests {
    @Test("A host's limit of connections holds whether requests come directly or by redirects", arguments: [2, 4])
    func perHost(loops: Int) async throws {
        let gate = Gate()
        let hosts = try (0..<4).map { _ in try LoopbackServer { _ in .text("hello").after([.waitFor(gate)]) } }
        let redirecting = try LoopbackServer { request in
            .redirect(to: hosts[(Int(request.path.dropFirst()) ?? 0) % 4].url("/"))
        }
        defer { for server in hosts + [redirecting] { server.stop() } }
        let delegate = RecordingDelegate()
        let session = URLSession.forTest(delegate: delegate) { configuration in
            configuration.curl.eventLoops = loops
            configuration.httpMaximumConnectionsPerHost = 2
            configuration.urlCache = nil
        }
        defer { session.invalidateAndCancel() }
        let direct = (0..<20).map { session.dataTask(with: hosts[$0 % 4].url("/")) }
        let redirected = (0..<20).map { session.dataTask(with: redirecting.url("/\($0)")) }
        for (task, other) in zip(direct, redirected) {
            task.resume()
            other.resume()
        }
        for host in hosts { try await host.waitForRequests(2) }
        try await redirecting.waitForRequests(20)
        await session.flush()
        #expect(hosts.map(\.requestCount) == [2, 2, 2, 2])
        gate.open()
        for task in direct + redirected { try await delegate.success(of: task) }
        #expect(hosts.map(\.requestCount) == [10, 10, 10, 10])
    }

    @Test("The limit for all hosts holds over all loops, which share it")
    func total() async throws {
        let gate = Gate()
        let hosts = try (0..<4).map { _ in try LoopbackServer { _ in .text("hello").after([.waitFor(gate)]) } }
        defer { for host in hosts { host.stop() } }
        let delegate = RecordingDelegate()
        let session = URLSession.forTest(delegate: delegate) { configuration in
            configuration.curl.eventLoops = 2
            configuration.curl.maximumConnections = 5
            configuration.urlCache = nil
        }
        defer { session.invalidateAndCancel() }
        let tasks = (0..<20).map { session.dataTask(with: hosts[$0 % 4].url("/")) }
        for task in tasks { task.resume() }
        // Three places on the loop of the first and third host, two on the other's.
        for (host, count) in zip(hosts, [2, 1, 1, 1]) { try await host.waitForRequests(count) }
        await session.flush()
        #expect(hosts.map(\.openConnections) == [2, 1, 1, 1])
        #expect(await session.connections.reduce(0) { $0 + $1.waiting } == 15)
        gate.open()
        for task in tasks { try await delegate.success(of: task) }
        #expect(hosts.map(\.requestCount) == [5, 5, 5, 5])
    }

    @Test(
        "The limit for all hosts is never exceeded over several loops, idle connections included",
        arguments: [1, 3, 7]
    )
    func neverMore(limit: Int) async throws {
        let hosts = try (0..<6).map { _ in try LoopbackServer { _ in .text("hello") } }
        defer { for host in hosts { host.stop() } }
        let session = URLSession.forTest { configuration in
            configuration.curl.eventLoops = 4
            configuration.curl.maximumConnections = limit
            configuration.urlCache = nil
        }
        defer { session.invalidateAndCancel() }
        let done = Gate()
        async let most = Self.maximumConnections(of: session, until: done)
        await withTaskGroup(of: String?.self) { group in
            for index in 0..<120 { group.addTask { await session.load(hosts[index % 6].url("/")).text } }
            for await text in group { #expect(text == "hello") }
        }
        done.open()
        #expect(await (1...limit).contains(most))
        // A session uses no more loops than it may have connections.
        #expect(Set(await session.connections.map(\.eventLoop)).count == min(4, limit))
    }

    private static func maximumConnections(of session: URLSession, until done: Gate) async -> Int {
        var most = 0
        while !done.isOpen { most = max(most, await session.connections.reduce(0) { $0 + $1.open }) }
        return most
    }

    @Test("The limit of idle connections holds over all loops, which share it")
    func kept() async throws {
        let gate = Gate()
        let hosts = try (0..<2).map { _ in try LoopbackServer { _ in .text("hello").after([.waitFor(gate)]) } }
        defer { for host in hosts { host.stop() } }
        let delegate = RecordingDelegate()
        let session = URLSession.forTest(delegate: delegate) { configuration in
            configuration.curl.eventLoops = 2
            configuration.curl.maximumKeptConnections = 3
            configuration.urlCache = nil
        }
        defer { session.invalidateAndCancel() }
        let tasks = (0..<10).map { session.dataTask(with: hosts[$0 % 2].url("/")) }
        for task in tasks { task.resume() }
        for host in hosts { try await host.waitForRequests(5) }
        gate.open()
        for task in tasks { try await delegate.success(of: task) }
        try await hosts[0].waitForOpenConnections(atMost: 2)
        try await hosts[1].waitForOpenConnections(atMost: 1)
        #expect(await session.connections.map(\.idle).sorted() == [1, 2])
    }
}
