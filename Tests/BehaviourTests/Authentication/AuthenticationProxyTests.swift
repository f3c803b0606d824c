import CurlNetworking
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

    @Test("A proxy's challenge is answered for the proxy's space, and its credential is sent ahead from then on")
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

    @Test("The server behind a proxy has a protection space of its own")
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

    @Test("A proxy's refusal is delivered once the delegate gives up")
    func refused() async throws {
        let proxy = try Self.proxy()
        defer { proxy.stop() }
        let lines = try await Self.lines(proxy, "user", "wrong", "http://a.example/x")
        #expect(lines.map { $0.prefix(5) } == ["asked", "asked", "407 c"])
        #expect(proxy.requestCount == 2)
    }

    @Test(
        "A credential that the proxy has accepted is kept and stored even if the server behind it says 401",
        arguments: [true, false]
    )
    func letThrough(tunnel: Bool) async throws {
        /// Says what is stored, and where.
        final class Storage: URLCredentialStorage, @unchecked Sendable {
            let stored = Watched<[String]>([])

            override func set(_ credential: URLCredential, for space: URLProtectionSpace) {
                let party = space.isProxy() ? "proxy" : "server"
                stored.update { $0.append("\(party) \(space.port) \(space.realm ?? "") \(credential.user ?? "")") }
            }
        }
        let closed = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=vault\r\nContent-Length: 0\r\n\r\n"
        let proxy = try ScriptedProxy(throughTunnel: closed) { request in
            guard request.header("Proxy-Authorization") == Guard.token() else {
                return .text("closed", status: 407).header("Proxy-Authenticate", #"Basic realm="gate""#)
            }
            guard request.method != "CONNECT" else { return nil }
            return .text("closed", status: 401).header("WWW-Authenticate", "Basic realm=vault")
        }
        defer { proxy.stop() }
        let delegate = DecidingDelegate(onChallenge: { asked in
            if asked.space.isProxy() { return asked.answer(.useCredential, .right()) }
            asked.answer(.useCredential, asked.challenge.previousFailureCount == 0 ? .wrong() : nil)
        })
        let storage = Storage()
        let session = URLSession.through(proxy.settings(tunnel: tunnel), delegate: delegate) {
            $0.urlCredentialStorage = storage
        }
        defer { session.invalidateAndCancel() }
        for url in ["http://a.example/", "http://b.example/"] {
            #expect(await session.load(url).response?.statusCode == 401)
        }
        #expect(delegate.challenges.value.count(where: { $0.space.isProxy() }) == 1)
        #expect(proxy.shown.count(where: { $0 == nil }) == 1)
        try await storage.stored.wait { !$0.isEmpty }
        // The server's own has been refused.
        #expect(storage.stored.value == ["proxy \(proxy.server.port) gate user"])
    }
}
