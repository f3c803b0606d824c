import CurlNetworking
import CurlNetworkingLoopbackServer
import CurlTransport
import Foundation
import TestSupport
import Testing

/// Tickets belong to a process: a helper's.
@Suite("Negotiate in a real Kerberos realm", .enabled(if: CurlLibrary.hasNegotiate), .timeLimit(.minutes(1)))
struct KerberosTests {
    /// What the helper says, and on which connections the last request's path was asked for: 1 is the first of them.
    private struct Said {
        var lines: [String] = []
        var connections: [Int] = []

        init(_ lines: [String]) {
            for line in lines {
                let parts = line.split(separator: " on ", maxSplits: 1)
                self.lines.append(String(parts[0]))
                guard parts.count == 2 else { continue }
                let numbers = parts[1].split(separator: " ")
                var distinct: [Substring] = []
                connections = numbers.map { number in
                    if !distinct.contains(number) { distinct.append(number) }
                    return distinct.firstIndex(of: number).map { $0 + 1 } ?? 0
                }
            }
        }
    }

    private enum Tickets {
        case alices, none
        /// The realm's servers are asked for them, and don't answer.
        case awaited([SilentServer])
    }

    /// Starts the helper; see `NegotiateCommand`.
    private static func start(
        _ words: [String],
        in directory: TemporaryDirectory,
        _ tickets: Tickets = .alices,
        _ more: [String: String] = [:]
    ) throws -> ChildProcess {
        let realm = try KerberosRealm.shared()
        var ports: [Int]?
        if case .awaited(let servers) = tickets { ports = servers.map(\.port) }
        var environment = try realm.environment(in: directory, kdcPorts: ports)
        if case .none = tickets { environment["KRB5CCNAME"] = "FILE:\(directory.url.path)/none" }
        return try ChildProcess([TestHelper.path()] + words, environment: environment.merging(more) { $1 })
    }

    /// Has it send requests with these methods to a path of this kind that is theirs alone.
    private static func said(
        _ persistence: String,
        _ methods: [String],
        _ kind: String = "/each",
        basic: Bool = false,
        timeout: Int = 60,
        tickets: Tickets = .alices
    ) async throws -> Said {
        let directory = try TemporaryDirectory()
        let url = try KerberosRealm.shared().url("\(kind)/\(UUID().uuidString)\(basic ? "?basic" : "")")
        let words = ["negotiate", persistence, "\(timeout)"] + methods.flatMap { [$0, url] }
        return Said(await (try start(words, in: directory, tickets)).remainingLines())
    }

    // MARK: - Tickets

    @Test(
        "With a credential for one task alone, each task is asked and shows a ticket, on a connection of its own",
        arguments: ["/each", "/connection"]
    )
    func forTask(kind: String) async throws {
        let said = try await Self.said("none", ["GET", "POST", "HEAD", "GET"], kind)
        #expect(
            said.lines == [
                "asked Negotiate 0", "200 alice@KERBEROS.TEST GET 0", "asked Negotiate 0",
                "200 alice@KERBEROS.TEST POST 5000", "asked Negotiate 0", "200 ", "asked Negotiate 0",
                "200 alice@KERBEROS.TEST GET 0",
            ]
        )
        // Each task's first request is on the connection that is kept.
        #expect(said.connections == [1, 2, 1, 3, 1, 4, 1, 5])
    }

    @Test(
        "With a credential for the session, one task is asked, and later ones show a ticket on the same connection",
        arguments: ["/each", "/connection"]
    )
    func forSession(kind: String) async throws {
        let said = try await Self.said("session", ["GET", "POST", "GET"], kind)
        #expect(
            said.lines == [
                "asked Negotiate 0", "200 alice@KERBEROS.TEST GET 0", "200 alice@KERBEROS.TEST POST 5000",
                "200 alice@KERBEROS.TEST GET 0",
            ]
        )
        #expect(said.connections == [1, 1, 1, 1])
    }

    @Test("The first request's body is sent with the ticket", arguments: ["none", "session"])
    func body(persistence: String) async throws {
        let said = try await Self.said(persistence, ["POST"])
        #expect(said.lines == ["asked Negotiate 0", "200 alice@KERBEROS.TEST POST 5000"])
    }

    @Test("A request that is lost with its connection is repeated with another token, since none is taken twice")
    func repeated() async throws {
        let said = try await Self.said("session", ["GET", "GET"], "/leaving")
        let answer = "200 alice@KERBEROS.TEST GET 0"
        #expect(said.lines == ["asked Negotiate 0", answer, answer])
        #expect(said.connections == [1, 1, 1, 2])
    }

    @Test("A ticket is preferred to a password")
    func preferred() async throws {
        let said = try await Self.said("session", ["GET"], basic: true)
        #expect(said.lines == ["asked Negotiate 0", "200 alice@KERBEROS.TEST GET 0"])
    }

    @Test("The default handling shows no ticket")
    func defaultHandling() async throws {
        let said = try await Self.said("default", ["GET"])
        #expect(said.lines == ["asked Negotiate 0", "401 closed"])
    }

    @Test("A refused ticket is put to the delegate again, where the server offers nothing else")
    func refused() async throws {
        let said = try await Self.said("session", ["GET"], "/closed")
        #expect(said.lines == ["asked Negotiate 0", "asked Negotiate 1", "401 closed"])
    }

    @Test("After a refused ticket the delegate is asked for the password")
    func refusedBeforeBasic() async throws {
        let said = try await Self.said("session", ["GET", "GET"], "/closed", basic: true)
        #expect(said.lines == ["asked Negotiate 0", "asked HTTPBasic 0", "200 user GET 0", "200 user GET 0"])
        #expect(said.connections.count == 4)
    }

    @Test("Negotiate goes out over HTTP/1.1, since servers may authenticate the connection")
    func version() async throws {
        let nginx = try NginxHTTP2.shared()
        let directory = try TemporaryDirectory()
        let url = "https://localhost:\(nginx.port(of: .tls))/kerberos/"
        let trust = ["SSL_CERT_FILE": nginx.site.authority.path]
        let helper = try Self.start(["negotiate", "none", "60", "GET", url], in: directory, .alices, trust)
        let lines = await helper.remainingLines()
        #expect(lines == ["asked Negotiate 0 over HTTP/2.0", "200 open over HTTP/1.1"])
    }

    // MARK: - No tickets

    @Test("Without a ticket the next scheme is tried, or the response delivered, and no request sent in between")
    func noTicket() async throws {
        let basic = try await Self.said("session", ["GET", "GET"], basic: true, tickets: .none)
        #expect(basic.lines == ["asked Negotiate 0", "asked HTTPBasic 0", "200 user GET 0", "200 user GET 0"])
        #expect(basic.connections.count == 3)
        let alone = try await Self.said("session", ["GET"], tickets: .none)
        #expect(alone.lines == ["asked Negotiate 0", "401 closed"])
    }

    @Test("If the realm's servers don't answer before the request's time-out, the next scheme is tried")
    func silentRealm() async throws {
        let servers = try (0..<4).map { _ in try SilentServer() }
        defer { for server in servers { server.stop() } }
        let said = try await Self.said("session", ["GET"], basic: true, timeout: 1, tickets: .awaited(servers))
        #expect(said.lines == ["asked Negotiate 0", "asked HTTPBasic 0", "200 user GET 0"])
    }

    /// The library waits for each of the servers half a minute.
    @Test("While the realm's servers don't answer, no other task waits, and the one that does can be cancelled")
    func beside() async throws {
        let servers = try (0..<4).map { _ in try SilentServer() }
        defer { for server in servers { server.stop() } }
        let other = try LoopbackServer { _ in .text("hello") }
        defer { other.stop() }
        let directory = try TemporaryDirectory()
        let url = try KerberosRealm.shared().url("/each")
        let words = ["negotiate-beside", url, other.url("/").absoluteString]
        let helper = try Self.start(words, in: directory, .awaited(servers))
        #expect(await helper.line() == "asked Negotiate 0")
        try await servers[0].waitForConnections(1)
        helper.say("others")
        #expect(await helper.line() == "others " + Array(repeating: "200", count: 9).joined(separator: " "))
        helper.say("cancel")
        #expect(await helper.line() == "error \(URLError.cancelled.rawValue)")
        // Though the library still waits.
        #expect(await helper.ending() == .exit(0))
    }
}
