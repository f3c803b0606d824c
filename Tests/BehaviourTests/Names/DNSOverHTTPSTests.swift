import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("DNS over HTTPS", .timeLimit(.minutes(1)))
struct DNSOverHTTPSTests {
    /// Answers every question with 127.0.0.1; nginx puts TLS in front of it.
    private static func resolver() throws -> LoopbackServer {
        try LoopbackServer { request in
            guard request.header("Content-Type") == "application/dns-message", let query = DNSQuery(request.body) else {
                return .status(400)
            }
            return .data(query.answer([[127, 0, 0, 1]]), contentType: "application/dns-message")
        }
    }

    /// The names that IPv4 addresses were asked for.
    private static func names(askedOf resolver: LoopbackServer) -> [String] {
        resolver.requests.compactMap { DNSQuery($0.body) }.filter { $0.type == DNSQuery.ipv4 }.map(\.name)
    }

    private static func session(
        _ nginx: Nginx,
        _ resolver: LoopbackServer,
        _ configure: (URLSessionConfiguration) -> Void = { _ in }
    ) -> URLSession {
        let authority = nginx.site.authority.path
        return .forTest {
            $0.curl.names.dnsOverHTTPS = nginx.tls("/proxy/\(resolver.port)/dns-query")
            $0.curl.configureTransfer = { transfer, _ in try transfer.set("CAINFO", authority) }
            configure($0)
        }
    }

    @Test("The names are asked of the server, and an address serves a while")
    func lookup() async throws {
        let (nginx, resolver) = (try Nginx.shared(), try Self.resolver())
        defer { resolver.stop() }
        let server = try LoopbackServer { _ in .text("hello").closing() }
        defer { server.stop() }
        let session = Self.session(nginx, resolver)
        defer { session.invalidateAndCancel() }
        let url = try #require(URL(string: "http://somewhere.test:\(server.port)/"))
        for _ in 0..<3 {
            let result = await session.load(url)
            #expect(result.text == "hello", "\(String(describing: result.error)) \(nginx.complaints)")
        }
        #expect(server.connectionCount == 3)
        #expect(Self.names(askedOf: resolver) == ["somewhere.test"])
    }

    @Test("With a lifetime of zero each connection asks anew")
    func lifetime() async throws {
        let (nginx, resolver) = (try Nginx.shared(), try Self.resolver())
        defer { resolver.stop() }
        let server = try LoopbackServer { _ in .text("hello").closing() }
        defer { server.stop() }
        let session = Self.session(nginx, resolver) { $0.curl.names.cacheLifetime = .zero }
        defer { session.invalidateAndCancel() }
        let url = try #require(URL(string: "http://elsewhere.test:\(server.port)/"))
        for _ in 0..<3 { #expect(await session.load(url).text == "hello") }
        #expect(Self.names(askedOf: resolver) == ["elsewhere.test", "elsewhere.test", "elsewhere.test"])
    }

    @Test("The session's authorities vouch for the server, whatever the URL's scheme", arguments: ["http", "https"])
    func sessionAuthorities(scheme: String) async throws {
        let (nginx, resolver) = (try Nginx.shared(), try Self.resolver())
        defer { resolver.stop() }
        let session = Self.session(nginx, resolver) {
            $0.curl.configureTransfer = nil
            $0.curl.tls.trustRoots = [.file(nginx.site.authority)]
            $0.curl.hosts["somewhere.test"].trustsAnyCertificate = true
        }
        defer { session.invalidateAndCancel() }
        let server = try LoopbackServer { _ in .text("hello").closing() }
        defer { server.stop() }
        let port = try #require(scheme == "http" ? server.port : nginx.tls("/").port)
        let result = await session.load(try #require(URL(string: "\(scheme)://somewhere.test:\(port)/")))
        #expect(result.response != nil, "\(String(describing: result.error)) \(nginx.complaints)")
        #expect(Self.names(askedOf: resolver) == ["somewhere.test"])
    }

    @Test("A server whose certificate isn't trusted isn't asked, and nobody else is")
    func untrusted() async throws {
        let (nginx, resolver) = (try Nginx.shared(), try Self.resolver())
        defer { resolver.stop() }
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let session = Self.session(nginx, resolver) { $0.curl.configureTransfer = nil }
        defer { session.invalidateAndCancel() }
        let url = try #require(URL(string: "http://localhost.test:\(server.port)/"))
        let result = await session.load(url)
        #expect(result.error?.code == .cannotFindHost)
        #expect(resolver.requestCount == 0)
        #expect(server.connectionCount == 0)
    }
}
