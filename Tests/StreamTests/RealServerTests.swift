import CurlNetworking
import Foundation
import TestSupport
import Testing

@Suite("Stream tasks with real servers", .timeLimit(.minutes(1)))
struct RealServerTests {
    @Test("A mail is sent over SMTP with STARTTLS")
    func mail() async throws {
        let site = try TLSNginx.shared().site
        let server = try MailServer(site)
        defer { server.stop() }
        let session = URLSession.trusting(try TLSNginx.shared())
        defer { session.invalidateAndCancel() }
        let task = session.streamTask(withHostName: "127.0.0.1", port: server.port)
        task.resume()
        #expect(try await reply(task).hasPrefix("220 "))
        #expect(try await say("EHLO client", to: task).contains("STARTTLS"))
        #expect(try await say("MAIL FROM:<a@localhost>", to: task).hasPrefix("530 "))
        #expect(try await say("STARTTLS", to: task).hasPrefix("220 "))
        task.startSecureConnection()
        #expect(!(try await say("EHLO client", to: task).contains("STARTTLS")))
        #expect(try await say("MAIL FROM:<a@localhost>", to: task).hasPrefix("250 "))
        #expect(try await say("RCPT TO:<b@localhost>", to: task).hasPrefix("250 "))
        #expect(try await say("DATA", to: task).hasPrefix("354 "))
        #expect(try await say("Subject: Hello\r\n\r\nOver TLS.\r\n.", to: task).hasPrefix("250 "))
        #expect(try await say("QUIT", to: task).hasPrefix("221 "))
        #expect(try server.mail().contains("Over TLS."))
    }

    /// A command, and all lines of the reply to it.
    private func say(_ command: String, to task: URLSessionStreamTask) async throws -> String {
        try await task.write(command + "\r\n")
        return try await reply(task)
    }

    private func reply(_ task: URLSessionStreamTask) async throws -> String {
        var text = ""
        while true {
            let line = try await task.line()
            text += line + "\n"
            if line.dropFirst(3).first != "-" { return text }
        }
    }

    private enum Way: CaseIterable {
        case direct, tls, tunnel, tunnelWithPassword, tunnelOverTLS, tunnelAndTLS
        case socks4, socks5h, socksWithPassword, socksAndTLS
    }

    @Test(
        "Redis is asked plain and over TLS, directly, through squid's tunnels and through SOCKS",
        arguments: Way.allCases
    )
    private func redis(_ way: Way) async throws {
        let redis = try Redis.shared()
        let proxy: CurlOptions.ProxyServer? =
            switch way {
            case .direct, .tls: nil
            case .tunnel, .tunnelAndTLS: try Squid.shared().server(.open)
            case .tunnelWithPassword: try Squid.shared().server(.basic)
            case .tunnelOverTLS: try Squid.shared().server(.tls)
            case .socks4: try Dante.shared().server(.socks4)
            case .socks5h, .socksAndTLS: try Dante.shared().server(.socks5h)
            case .socksWithPassword: try Microsocks.shared().server()
            }
        let session = URLSession.trusting(try TLSNginx.shared()) { if let proxy { $0.proxy = .server(proxy) } }
        defer { session.invalidateAndCancel() }
        let isSecure = [.tls, .tunnelAndTLS, .socksAndTLS].contains(way)
        let task = session.streamTask(withHostName: "127.0.0.1", port: isSecure ? redis.securePort : redis.port)
        if isSecure { task.startSecureConnection() }
        task.resume()
        try await task.write("PING\r\n")
        #expect(try await task.line() == "+PONG")
        try await task.write("ECHO \"a line\"\r\n")
        #expect(try await task.line() == "$6")
        #expect(try await task.line() == "a line")
        try await task.write("QUIT\r\n")
        #expect(try await task.line() == "+OK")
        #expect(try await task.rest() == "")
    }

    @Test("A proxy that wants another password fails the task, and one that refuses the host as well")
    func refusedTunnel() async throws {
        let squid = try Squid.shared()
        for (server, host, code) in [
            (try squid.server(.basic, password: "wrong"), "127.0.0.1", URLError.Code.userAuthenticationRequired),
            (try squid.server(.open), Squid.forbiddenHost, .cannotConnectToHost),
        ] {
            let recorder = StreamRecorder()
            let session = URLSession.forTest(delegate: recorder) { $0.curl.proxy = .server(server) }
            defer { session.invalidateAndCancel() }
            let task = session.streamTask(withHostName: host, port: try Redis.shared().port)
            task.resume()
            #expect(try await recorder.completion()?.code == code)
        }
    }

    @Test("A proxy's challenge is the delegate's to answer")
    func proxyChallenge() async throws {
        let squid = try Squid.shared()
        let server = try squid.server(.basic, password: nil)
        let recorder = StreamRecorder { challenge in
            challenge.previousFailureCount > 0
                ? (.cancelAuthenticationChallenge, nil)
                : (.useCredential, URLCredential(user: "user", password: "secret", persistence: .none))
        }
        let session = URLSession.forTest(delegate: recorder) { $0.curl.proxy = .server(server) }
        defer { session.invalidateAndCancel() }
        let task = session.streamTask(withHostName: "127.0.0.1", port: try Redis.shared().port)
        task.resume()
        try await task.write("PING\r\n")
        #expect(try await task.line() == "+PONG")
        #expect(recorder.record.value.challenges == [NSURLAuthenticationMethodHTTPBasic])
    }

    @Test("A connection to a proxy over TLS can't be captured")
    func captureOverTLS() async throws {
        let recorder = StreamRecorder()
        let proxy = try Squid.shared().server(.tls)
        let session = URLSession.trusting(try TLSNginx.shared(), delegate: recorder) { $0.proxy = .server(proxy) }
        defer { session.invalidateAndCancel() }
        let task = session.streamTask(withHostName: "127.0.0.1", port: try Redis.shared().port)
        task.resume()
        try await task.write("PING\r\n")
        #expect(try await task.line() == "+PONG")
        task.captureStreams()
        #expect(try await recorder.completion()?.code == .cannotLoadFromNetwork)
    }

    @Test("Entries of the host table lead to another address, and to a Unix socket")
    func hosts() async throws {
        let redis = try Redis.shared()
        let session = URLSession.forTest {
            $0.curl.hosts["database.test"].names.addresses = ["127.0.0.1"]
            $0.curl.hosts["socket.test"].names.unixSocket = .path(redis.socket)
        }
        defer { session.invalidateAndCancel() }
        for host in ["database.test", "socket.test"] {
            let task = session.streamTask(withHostName: host, port: redis.port)
            task.resume()
            try await task.write("PING\r\n")
            #expect(try await task.line() == "+PONG")
        }
    }
}

/// Debian's redis, plain, over TLS and on a Unix socket. It keeps nothing, and ends with the test process, however that ends.
private final class Redis: Sendable {
    /// The one that all tests share. Throws where redis is missing or doesn't start.
    static func shared() throws -> Redis { try sharedResult.get() }

    private static let sharedResult = Result { try Redis() }

    let port: Int
    let securePort: Int
    let socket: String
    private let directory: TemporaryDirectory
    private let process: ChildProcess

    private init() throws {
        let directory = try TemporaryDirectory()
        let site = try TLSNginx.shared().site
        let socket = directory.url.path + "/redis"
        let (ports, process) = try LoopbackProgram.start("redis-server", ports: 2) { ports in
            [
                "/usr/bin/redis-server", "--bind", "127.0.0.1", "--port", "\(ports[0])", "--tls-port", "\(ports[1])",
                "--tls-cert-file", site.certificate(.good).path, "--tls-key-file", site.key(.good).path,
                "--tls-auth-clients", "no", "--save", "", "--appendonly", "no", "--dir", directory.url.path,
                "--unixsocket", socket, "--daemonize", "no",
            ]
        }
        (port, securePort) = (ports[0], ports[1])
        (self.socket, self.directory, self.process) = (socket, directory, process)
    }
}

/// An SMTP server that wants TLS: Debian's aiosmtpd. The test must call `stop()`.
private final class MailServer: Sendable {
    let port: Int
    private let directory: TemporaryDirectory
    private let process: ChildProcess

    init(_ site: TLSSite) throws {
        let directory = try TemporaryDirectory()
        let script = try directory.file("server.py", Data(Self.script.utf8))
        let (ports, process) = try LoopbackProgram.start("python3-aiosmtpd") { ports in
            [
                "/usr/bin/python3", script.path, "\(ports[0])", site.certificate(.good).path, site.key(.good).path,
                directory.url.path + "/mail",
            ]
        }
        (port, self.directory, self.process) = (ports[0], directory, process)
    }

    func stop() {
        process.kill()
    }

    /// What has come last.
    func mail() throws -> String {
        try String(contentsOf: directory.url.appendingPathComponent("mail"), encoding: .utf8)
    }

    private static let script = """
        import asyncio, ssl, sys
        from aiosmtpd.smtp import SMTP

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[2], sys.argv[3])

        class Keeper:
            async def handle_DATA(self, server, session, envelope):
                with open(sys.argv[4], "wb") as file:
                    file.write(envelope.content)
                return "250 OK"

        async def main():
            loop = asyncio.get_running_loop()
            server = await loop.create_server(
                lambda: SMTP(Keeper(), tls_context=context, require_starttls=True, hostname="test"),
                "127.0.0.1", int(sys.argv[1]))
            await server.serve_forever()

        asyncio.run(main())
        """
}
