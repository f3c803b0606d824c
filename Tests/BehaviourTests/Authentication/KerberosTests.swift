import CurlTransport
import Foundation
import TestSupport
import Testing

/// Tickets belong to a process: a helper's.
@Suite("Negotiate in a real Kerberos realm", .enabled(if: CurlLibrary.hasNegotiate), .timeLimit(.minutes(1)))
struct KerberosTests {
    /// What the helper says, without the numbers of connections, and these numbers.
    private struct Said {
        var lines: [String] = []
        var connections: [String] = []

        init(_ lines: [String]) {
            for line in lines {
                let parts = line.split(separator: " on ", maxSplits: 1)
                self.lines.append(String(parts[0]))
                if parts.count == 2 { connections.append(String(parts[1])) }
            }
        }
    }

    /// Runs the helper with alice's ticket, or without any; see `NegotiateCommand`.
    private static func said(_ persistence: String, _ requests: [(String, String)], hasTicket: Bool = true) async throws
        -> Said
    {
        let realm = try KerberosRealm.shared()
        let directory = try TemporaryDirectory()
        var environment = try realm.environment(in: directory)
        if !hasTicket { environment["KRB5CCNAME"] = "FILE:\(directory.url.path)/none" }
        let words = requests.flatMap { [$0, realm.url($1)] }
        let helper = try ChildProcess([TestHelper.path(), "negotiate", persistence] + words, environment: environment)
        return Said(await helper.remainingLines())
    }

    @Test(
        "With a credential for one task alone, each task is asked and shows a ticket, on a connection of its own",
        arguments: ["/each", "/connection"]
    )
    func forTask(path: String) async throws {
        let said = try await Self.said("none", [("GET", path), ("POST", path), ("GET", path)])
        #expect(
            said.lines == [
                "asked Negotiate 0", "200 alice@KERBEROS.TEST GET 0", "asked Negotiate 0",
                "200 alice@KERBEROS.TEST POST 5000", "asked Negotiate 0", "200 alice@KERBEROS.TEST GET 0",
            ]
        )
        #expect(Set(said.connections).count == 3)
    }

    @Test(
        "With a credential for the session, one task is asked, and later ones show a ticket on the same connection",
        arguments: ["/each", "/connection"]
    )
    func forSession(path: String) async throws {
        let said = try await Self.said("session", [("GET", path), ("POST", path), ("GET", path)])
        #expect(
            said.lines == [
                "asked Negotiate 0", "200 alice@KERBEROS.TEST GET 0", "200 alice@KERBEROS.TEST POST 5000",
                "200 alice@KERBEROS.TEST GET 0",
            ]
        )
        #expect(Set(said.connections).count == 1)
    }

    @Test("The first request's body is sent with the ticket", arguments: ["none", "session"])
    func body(persistence: String) async throws {
        let said = try await Self.said(persistence, [("POST", "/each")])
        #expect(said.lines == ["asked Negotiate 0", "200 alice@KERBEROS.TEST POST 5000"])
    }

    @Test("The default handling shows no ticket")
    func defaultHandling() async throws {
        let said = try await Self.said("default", [("GET", "/each")])
        #expect(said.lines == ["asked Negotiate 0", "401 closed"])
    }

    @Test("A refused ticket is put to the delegate again, where the server offers nothing else")
    func refused() async throws {
        let said = try await Self.said("session", [("GET", "/closed")])
        #expect(said.lines == ["asked Negotiate 0", "asked Negotiate 1", "401 closed"])
    }
}
