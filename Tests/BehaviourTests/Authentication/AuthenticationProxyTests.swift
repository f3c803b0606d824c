import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

/// Proxies come from the environment, which belongs to a process: a helper's.
@Suite("A proxy's challenges", .timeLimit(.minutes(1)))
struct AuthenticationProxyTests {
    private static func proxy() throws -> LoopbackServer {
        try LoopbackServer { request in
            guard request.header("Proxy-Authorization") == Guard.token() else {
                return .text("closed", status: 407).header("Proxy-Authenticate", #"Basic realm="gate""#)
            }
            guard !request.path.hasPrefix("/vault") || request.header("Authorization") == Guard.token() else {
                return .text("closed", status: 401).header("WWW-Authenticate", #"Basic realm="vault""#)
            }
            return .text("got \(request.target)")
        }
    }

    private static func lines(_ proxy: LoopbackServer, _ words: String...) async throws -> [String] {
        let helper = try ChildProcess(
            [TestHelper.path(), "authenticate"] + words,
            environment: ["http_proxy": "127.0.0.1:\(proxy.port)", "no_proxy": ""]
        )
        var lines: [String] = []
        while let line = await helper.line() { lines.append(line) }
        return lines
    }

    @Test("They are answered with the proxy's protection space, and its credential is then sent ahead")
    func answered() async throws {
        let proxy = try Self.proxy()
        defer { proxy.stop() }
        let lines = try await Self.lines(proxy, "user", "secret", "http://a.example/x", "http://b.example/y")
        #expect(
            lines == [
                "asked proxy 127.0.0.1 \(proxy.port) gate HTTPBasic 0", "200 got http://a.example/x",
                "200 got http://b.example/y",
            ]
        )
        #expect(proxy.requests.map { $0.header("Proxy-Authorization") } == [nil, Guard.token(), Guard.token()])
        #expect(proxy.requests.allSatisfy { $0.header("Authorization") == nil })
    }

    @Test("The server behind it has a space of its own")
    func both() async throws {
        let proxy = try Self.proxy()
        defer { proxy.stop() }
        let lines = try await Self.lines(proxy, "user", "secret", "http://a.example/vault", "http://b.example/")
        #expect(
            lines == [
                "asked proxy 127.0.0.1 \(proxy.port) gate HTTPBasic 0", "asked server a.example 80 vault HTTPBasic 0",
                "200 got http://a.example/vault", "200 got http://b.example/",
            ]
        )
        // The server's credential stays the server's.
        #expect(proxy.requests.last?.header("Authorization") == nil)
        #expect(proxy.requests.last?.header("Proxy-Authorization") == Guard.token())
    }

    @Test("What is refused is delivered in the end")
    func refused() async throws {
        let proxy = try Self.proxy()
        defer { proxy.stop() }
        let lines = try await Self.lines(proxy, "user", "wrong", "http://a.example/x")
        #expect(lines.map { $0.prefix(5) } == ["asked", "asked", "407 c"])
        #expect(proxy.requestCount == 2)
    }
}
