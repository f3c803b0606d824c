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

    @Test("Names are looked up over HTTPS, and an address is used for a while")
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

    @Test("With a lifetime of zero each connection looks the name up anew")
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

    @Test("The authorities that libcurl trusts when it asks the DNS server are added to no session's")
    func separateAuthorities() async throws {
        let (nginx, resolver) = (try Nginx.shared(), try Self.resolver())
        defer { resolver.stop() }
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        // If it were added, every certificate would need a list.
        let list = try TLSNginx.shared().site.revocationList.path
        let sessions = [true, false].map { isFirst in
            Self.session(nginx, resolver) {
                $0.curl.tls.trustRoots = [.file(nginx.site.authority)]
                $0.curl.configureTransfer = { transfer, _ in if isFirst { try transfer.set("CRLFILE", list) } }
            }
        }
        defer { for session in sessions { session.invalidateAndCancel() } }
        let url = try #require(URL(string: "http://somewhere.test:\(server.port)/"))
        #expect(await sessions[0].load(url).text == "hello")
        let other = await sessions[1].load(nginx.tls(NginxSite.smallPath))
        #expect(other.text == NginxSite.smallText, "\(String(describing: other.error))")
    }

    @Test("A DNS server whose certificate isn't trusted isn't asked, and no other server is")
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

    // libcurl 7.88 calls some of these a lack of memory.
    @Test(
        "A name to which the DNS server gives no address isn't found, whichever addresses are wanted",
        arguments: [CurlOptions.IPVersion.any, .v4, .v6],
        [false, true]
    )
    func noAddress(version: CurlOptions.IPVersion, isAlias: Bool) async throws {
        let resolver = try LoopbackServer { request in
            guard let query = DNSQuery(request.body) else { return .status(400) }
            return .data(isAlias ? query.alias("other.test") : query.answer([]), contentType: "application/dns-message")
        }
        defer { resolver.stop() }
        let session = Self.session(try Nginx.shared(), resolver) { $0.curl.names.ipVersion = version }
        defer { session.invalidateAndCancel() }
        let error = await session.load(try #require(URL(string: "http://somewhere.test/"))).error
        #expect(error?.code == .cannotFindHost, "\(error?.userInfo as Any)")
        #expect(error?.localizedDescription.contains("memory") == false)
        #expect(Set(resolver.requests.compactMap { DNSQuery($0.body)?.name }) == ["somewhere.test"])
    }

    // MARK: - Proxies

    @Test("If the DNS server gives no address for a proxy, the error says that it is the proxy that isn't found")
    func noAddressOfProxy() async throws {
        let resolver = try LoopbackServer { request in
            guard let query = DNSQuery(request.body) else { return .status(400) }
            return .data(query.alias("other.test"), contentType: "application/dns-message")
        }
        defer { resolver.stop() }
        let session = Self.session(try Nginx.shared(), resolver) {
            $0.curl.proxy = .server(CurlOptions.ProxyServer(host: "proxy.test", port: 81))
        }
        defer { session.invalidateAndCancel() }
        let error = await session.load(try #require(URL(string: "http://somewhere.test/"))).error
        #expect(error?.code == .cannotFindHost, "\(error?.userInfo as Any)")
        #expect(error?.curlCode == .couldntResolveProxy)
    }

    /// A SOCKS 5 proxy that answers each request with "ok" itself, and the pieces that it has heard.
    private static func answeringProxy(_ heard: Watched<[Data]>) throws -> LoopbackServer {
        let replies = [
            Data([5, 0]), Data([5, 0, 0, 1, 127, 0, 0, 1, 0, 81]),
            Data("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".utf8),
        ]
        return try LoopbackServer(conversation: { _ in
            let step = Watched(0)
            return { event in
                guard case .received(let data) = event else { return [] }
                heard.update { $0.append(data) }
                return step.update { step in
                    defer { step += 1 }
                    return step < replies.count ? [.bytes(replies[step])] : []
                }
            }
        })
    }

    @Test("The DNS server is asked directly if the session has a SOCKS proxy, which gets the address")
    func socksProxy() async throws {
        let (nginx, resolver) = (try Nginx.shared(), try Self.resolver())
        defer { resolver.stop() }
        let heard = Watched<[Data]>([])
        let proxy = try Self.answeringProxy(heard)
        defer { proxy.stop() }
        let session = Self.session(nginx, resolver) {
            $0.curl.proxy = .server(CurlOptions.ProxyServer(.socks5, host: "127.0.0.1", port: proxy.port))
        }
        defer { session.invalidateAndCancel() }
        let result = await session.load(try #require(URL(string: "http://somewhere.test:81/")))
        #expect(result.text == "ok", "\(String(describing: result.error)) \(nginx.complaints)")
        #expect(Self.names(askedOf: resolver) == ["somewhere.test"])
        #expect(proxy.connectionCount == 1)
        #expect(heard.value.dropFirst().first == Data([5, 1, 0, 1, 127, 0, 0, 1, 0, 81]))
    }

    @Test("The DNS server is asked directly for an HTTP proxy's name, and not for the host's")
    func httpProxy() async throws {
        let (nginx, resolver) = (try Nginx.shared(), try Self.resolver())
        defer { resolver.stop() }
        let proxy = try ScriptedProxy()
        defer { proxy.stop() }
        let session = Self.session(nginx, resolver) {
            $0.curl.proxy = .server(CurlOptions.ProxyServer(host: "proxy.test", port: proxy.server.port))
        }
        defer { session.invalidateAndCancel() }
        let result = await session.load(try #require(URL(string: "http://somewhere.test/")))
        #expect(
            result.text == "openly http://somewhere.test/",
            "\(String(describing: result.error)) \(nginx.complaints)"
        )
        #expect(Self.names(askedOf: resolver) == ["proxy.test"])
        #expect(proxy.server.connectionCount == 1)
    }

    @Test("The DNS server is asked through the environment's proxy for https, even if the request itself has none")
    func environmentProxy() async throws {
        let resolver = try Self.resolver()
        defer { resolver.stop() }
        let proxy = try LoopbackServer { _ in .status(403) }
        defer { proxy.stop() }
        let helper = try ChildProcess(
            [TestHelper.path(), "trace", "http://somewhere.test/", "https://127.0.0.1:\(resolver.port)/dns-query"],
            environment: ["https_proxy": "http://127.0.0.1:\(proxy.port)", "no_proxy": ""]
        )
        #expect(await helper.remainingLines() == ["traced"])
        // One for each kind of address. A request through the proxy would be there as a GET.
        let seen = Set(proxy.requests.map { "\($0.method) \($0.target)" })
        #expect(seen == ["CONNECT 127.0.0.1:\(resolver.port)"])
        #expect(resolver.connectionCount == 0)
    }
}
