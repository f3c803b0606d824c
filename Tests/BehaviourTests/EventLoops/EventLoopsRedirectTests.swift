import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Redirects from a host on one event loop to a host on another", .timeLimit(.minutes(1)))
struct EventLoopsRedirectTests {
    private static func session(delegate: (any URLSessionDelegate)? = nil) -> URLSession {
        URLSession.forTest(delegate: delegate) { $0.curl.eventLoops = 2 }
    }

    /// Sends what comes to it on to `other`, with method and body.
    private static func redirecting(to other: LoopbackServer) throws -> LoopbackServer {
        try LoopbackServer { .redirect(to: other.url($0.path), status: 307) }
    }

    @Test("A task of any kind is redirected to a host on another loop, with its method and body")
    func kinds() async throws {
        let other = try LoopbackServer { .text("\($0.method) \($0.text)") }
        let server = try Self.redirecting(to: other)
        defer { for server in [server, other] { server.stop() } }
        let session = Self.session()
        defer { session.invalidateAndCancel() }
        let url = server.url("/")
        for _ in 0..<2 {
            #expect(await session.load(url).text == "GET ")
            #expect(await session.load(URLRequest(url, method: "POST", body: Data("body".utf8))).text == "POST body")
            let (file, _) = try await session.download(from: url)
            #expect(try Data(contentsOf: file) == Data("GET ".utf8))
            try FileManager.default.removeItem(at: file)
            let (bytes, _) = try await session.bytes(from: url)
            #expect(try await bytes.reduce(into: Data()) { $0.append($1) } == Data("GET ".utf8))
            let put = URLRequest(url, method: "PUT")
            let (answer, _) = try await session.upload(for: put, from: Data("data".utf8))
            #expect(answer == Data("PUT data".utf8))
        }
        #expect(Set(await session.connections.map(\.eventLoop)) == [0, 1])
        #expect([server, other].map(\.connectionCount) == [1, 1])
    }

    @Test("A redirect to a host on another loop is put to the delegate, and the task shows where it went")
    func delegate() async throws {
        let other = try LoopbackServer { _ in .text("arrived") }
        let server = try Self.redirecting(to: other)
        defer { for server in [server, other] { server.stop() } }
        let delegate = DecidingDelegate()
        let session = Self.session(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: server.url("/from"))
        task.resume()
        try await delegate.record.wait { $0.completions[task.taskIdentifier] != nil }
        #expect(delegate.redirects.value.map(\.request.url) == [other.url("/from")])
        #expect(delegate.body(of: task) == Data("arrived".utf8))
        #expect(task.error == nil)
        #expect((task.originalRequest?.url, task.response?.url) == (server.url("/from"), other.url("/from")))
    }

    @Test("Cookies that a redirect sets are sent from the other loop")
    func cookies() async throws {
        let other = try LoopbackServer { .text($0.header("Cookie") ?? "none") }
        let server = try LoopbackServer { request in
            .redirect(to: other.url("/")).header("Set-Cookie", "crumb=\(request.path.dropFirst())")
        }
        defer { for server in [server, other] { server.stop() } }
        let session = Self.session()
        defer { session.invalidateAndCancel() }
        for number in 0..<20 {
            #expect(await session.load(server.url("/\(number)")).text == "crumb=\(number)")
        }
    }

    @Test("Back and forth, while other threads suspend and resume: no byte is lost, and there is one completion")
    func suspended() async throws {
        let length = 300_000
        let holder = Watched<[LoopbackServer]>([])
        let servers = try (0..<2).map { _ in
            try LoopbackServer { request in
                let hop = Int(request.path.dropFirst()) ?? 0
                guard hop < 20 else { return .generated(length: Int64(length), seed: 5) }
                return .redirect(to: holder.value[(hop + 1) % 2].url("/\(hop + 1)"))
            }
        }
        holder.update { $0 = servers }
        defer {
            holder.update { $0 = [] }
            for server in servers { server.stop() }
        }
        for _ in 0..<10 {
            let delegate = RecordingDelegate()
            let session = Self.session(delegate: delegate)
            let task = session.dataTask(with: servers[0].url("/0"))
            task.resume()
            let (rounds, enough) = (Watched(0), Gate())
            async let hammering: Void = hammer(threads: 2, until: enough) { _ in
                task.suspend()
                task.resume()
                rounds.update { $0 += 1 }
                if rounds.value >= 2000 { enough.open() }
            }
            try await delegate.success(of: task)
            await hammering
            #expect(delegate.body(of: task) == GeneratedBody.bytes(seed: 5, length: length))
            #expect(delegate.completionCount(of: task) == 1)
            session.invalidateAndCancel()
            try await delegate.invalidation()
        }
    }

    @Test("A task that is cancelled on its way to a loop that is held up never gets there")
    func cancelledOnTheWay() async throws {
        let other = try LoopbackServer { _ in .text("hello") }
        let server = try Self.redirecting(to: other)
        defer { for server in [server, other] { server.stop() } }
        let hold = LoopHold()
        let delegate = RecordingDelegate()
        let session = URLSession.forTest(delegate: delegate) { configuration in
            configuration.curl.eventLoops = 2
            hold.install(in: configuration)
        }
        defer { session.invalidateAndCancel() }
        // The first host is on the first loop.
        let first = session.dataTask(with: server.url("/first"))
        first.resume()
        try await delegate.success(of: first)
        let holding = session.dataTask(with: other.url("/hold"))
        holding.resume()
        try await hold.isHeldUp.wait()
        let task = session.dataTask(with: server.url("/task"))
        task.resume()
        try await server.waitForRequests(2)
        task.cancel()
        hold.end()
        try await delegate.success(of: holding)
        #expect(try await delegate.completion(of: task)?.code == .cancelled)
        #expect(other.requests.allSatisfy { $0.path != "/task" })
        #expect(delegate.completionCount(of: task) == 1)
    }

    @Test("The resource time-out holds after a redirect to a host on another loop")
    func timeout() async throws {
        let other = try LoopbackServer { _ in .never }
        let server = try Self.redirecting(to: other)
        defer { for server in [server, other] { server.stop() } }
        let session = URLSession.forTest { configuration in
            configuration.curl.eventLoops = 2
            configuration.timeoutIntervalForResource = 3
        }
        defer { session.invalidateAndCancel() }
        let result = await session.load(server.url("/"))
        #expect(result.error?.code == .timedOut)
        #expect(result.error?.failingURL == other.url("/"))
    }
}
