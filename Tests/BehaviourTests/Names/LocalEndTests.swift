import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("The local end of connections", .timeLimit(.minutes(1)))
struct LocalEndTests {
    private struct Client {
        let address: String
        let port: Int
    }

    /// What nginx saw of the client.
    private func client(_ session: URLSession, _ nginx: Nginx) async throws -> Client {
        let result = await session.load(nginx.plain(NginxSite.smallPath))
        #expect(result.text == NginxSite.smallText, "\(String(describing: result.error))")
        let words = try #require(result.response?.value(forHTTPHeaderField: "X-Client")).split(separator: " ")
        return Client(address: String(words[0]), port: try #require(Int(words[1])))
    }

    @Test("Connections are made from the address that the program names")
    func address() async throws {
        let nginx = try Nginx.shared()
        let session = URLSession.forTest { $0.curl.names.localEnd = .address("127.0.0.7") }
        defer { session.invalidateAndCancel() }
        #expect(try await client(session, nginx).address == "127.0.0.7")
    }

    @Test("A host's local end goes before the session's")
    func host() async throws {
        let nginx = try Nginx.shared()
        let session = URLSession.forTest {
            $0.curl.names.localEnd = .address("127.0.0.7")
            $0.curl.hosts["127.0.0.1:\(nginx.plainPort)"].names.localEnd = .address("127.0.0.8")
        }
        defer { session.invalidateAndCancel() }
        #expect(try await client(session, nginx).address == "127.0.0.8")
    }

    @Test("Connections are made from a port of the range that the program names, with an address and without")
    func ports() async throws {
        let nginx = try Nginx.shared()
        let first = try LoopbackServer.unusedPort()
        let ports = first...min(first + 500, 65_535)
        for end in [CurlOptions.LocalEnd.ports(ports), .address("127.0.0.9", ports: ports)] {
            let session = URLSession.forTest { $0.curl.names.localEnd = end }
            defer { session.invalidateAndCancel() }
            #expect(ports.contains(try await client(session, nginx).port))
        }
    }

    @Test("A connection from a port that is taken fails")
    func takenPort() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        let rig = Rig(server) { $0.curl.names.localEnd = .address("127.0.0.1", ports: server.port...server.port) }
        defer { rig.stop() }
        let result = await rig.session.load(rig.url("/"))
        #expect(result.error?.code == .cannotConnectToHost)
        #expect(rig.server.connectionCount == 0)
    }

    @Test("Connections are made from the interface that the program names, which must exist")
    func interface() async throws {
        let nginx = try Nginx.shared()
        let session = URLSession.forTest {
            $0.curl.names.localEnd = .interface("lo")
            $0.curl.hosts["localhost"].names.localEnd = .interface("none-such0")
        }
        defer { session.invalidateAndCancel() }
        #expect(try await client(session, nginx).address.hasPrefix("127."))
        let url = try #require(URL(string: "http://localhost:\(nginx.plainPort)/"))
        #expect(await session.load(url).error?.code == .cannotConnectToHost)
    }
}
