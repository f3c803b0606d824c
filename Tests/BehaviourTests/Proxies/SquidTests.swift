import CurlTransport
import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Through squid", .timeLimit(.minutes(1)))
struct SquidTests {
    private static let doors = Squid.Door.allCases.filter { $0 != .ntlm }

    /// A server, and squid with the credentials that its door wants.
    private static func load(
        through server: CurlOptions.ProxyServer,
        delegate: (any URLSessionDelegate)? = nil,
        _ configure: (URLSessionConfiguration) -> Void = { _ in }
    ) async throws -> (results: [HandlerResult], requests: [LoopbackServer.Request]) {
        let origin = try LoopbackServer { .text("\($0.method) \($0.target)") }
        defer { origin.stop() }
        let session = URLSession.through(server, delegate: delegate, configure)
        defer { session.invalidateAndCancel() }
        var results: [HandlerResult] = []
        for number in 1...3 { results.append(await session.load(origin.url("/\(number)"))) }
        return (results, origin.requests)
    }

    @Test("squid takes all kinds of credentials, with a tunnel and without", arguments: doors, [false, true])
    func credentials(door: Squid.Door, tunnel: Bool) async throws {
        var server = try Squid.shared().server(door)
        server.alwaysTunnels = tunnel
        let (results, requests) = try await Self.load(through: server)
        #expect(results.map(\.text) == ["GET /1", "GET /2", "GET /3"])
        #expect(requests.count == 3 && requests.allSatisfy { $0.header("Proxy-Authorization") == nil })
        // Squid adds this to what it sees.
        #expect(requests.allSatisfy { ($0.header("Via") == nil) == tunnel })
        if tunnel { #expect(Set(requests.map(\.connection)).count == 1) }
    }

    @Test("The delegate answers squid's challenges", arguments: [Squid.Door.basic, .digest], [false, true])
    func challenges(door: Squid.Door, tunnel: Bool) async throws {
        var server = try Squid.shared().server(door, password: nil)
        server.alwaysTunnels = tunnel
        let delegate = DecidingDelegate(onChallenge: { $0.answer(.useCredential, .right()) })
        let (results, _) = try await Self.load(through: server, delegate: delegate)
        #expect(results.map(\.text) == ["GET /1", "GET /2", "GET /3"])
        #expect(delegate.challenges.value.count == 1)
        #expect(delegate.challenges.value.allSatisfy { $0.space.isProxy() && $0.space.port == server.port })
    }

    @Test("A burst over HTTP/2 shares the tunnel that the delegate's credential has opened")
    func burst() async throws {
        let nginx = try NginxHTTP2.shared()
        let server = try Squid.shared().server(.basic, password: nil)
        let delegate = DecidingDelegate(onChallenge: { asked in
            guard asked.space.isProxy() else { return asked.answer(.performDefaultHandling, nil) }
            asked.answer(.useCredential, .right())
        })
        for _ in 0..<5 {
            let session = URLSession.through(server, delegate: delegate) {
                $0.urlCache = nil
                $0.curl.tls.additionalTrustRoots = [.file(nginx.site.authority)]
            }
            defer { session.invalidateAndCancel() }
            let results = await withTaskGroup(of: HandlerResult.self) { group in
                for _ in 0..<20 { group.addTask { await session.load(nginx.url(.tls, NginxSite.smallPath)) } }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(results.map(\.text) == Array(repeating: NginxSite.smallText, count: 20))
            #expect(Set(results.map { NginxHTTP2.connection(of: $0.response) }).count == 1)
        }
    }

    @Test("squid refuses a wrong password", arguments: [Squid.Door.basic, .digest], [false, true])
    func wrong(door: Squid.Door, tunnel: Bool) async throws {
        var server = try Squid.shared().server(door, password: "wrong")
        server.alwaysTunnels = tunnel
        let (results, requests) = try await Self.load(through: server)
        if tunnel {
            #expect(
                results.allSatisfy { $0.error?.code == .userAuthenticationRequired && $0.error?.proxyStatus == 407 }
            )
        } else {
            #expect(results.allSatisfy { $0.response?.statusCode == 407 })
        }
        #expect(requests.isEmpty)
    }

    @Test(
        "squid's own certificate is verified, and a server's authority doesn't vouch for it",
        arguments: [false, true]
    )
    func certificate(tunnel: Bool) async throws {
        var server = try Squid.shared().server(.tls)
        let authority = try #require(server.certificateAuthorities)
        server.certificateAuthorities = nil
        server.alwaysTunnels = tunnel
        let (results, requests) = try await Self.load(through: server) {
            $0.curl.tls.additionalTrustRoots = [.file(authority)]
        }
        for result in results {
            #expect(result.error?.code == .serverCertificateUntrusted)
            #expect(result.error?.curlCode == .peerFailedVerification)
            #expect(result.error?.localizedDescription.hasPrefix("The proxy's certificate") ?? false)
        }
        #expect(requests.isEmpty)
    }

    @Test("A host that squid forbids gives its 403, or an error with it through a tunnel")
    func forbidden() async throws {
        var server = try Squid.shared().server(.open)
        let session = URLSession.through(server)
        defer { session.invalidateAndCancel() }
        #expect(await session.load("http://\(Squid.forbiddenHost)/").response?.statusCode == 403)
        let error = await session.load("https://\(Squid.forbiddenHost)/").error
        #expect(error?.code == .cannotConnectToHost && error?.proxyStatus == 403)
        server.alwaysTunnels = true
        let tunnelling = URLSession.through(server)
        defer { tunnelling.invalidateAndCancel() }
        #expect(await tunnelling.load("http://\(Squid.forbiddenHost)/").error?.proxyStatus == 403)
    }

    @Test("HTTP/2 over TLS goes through the environment's proxy, with credentials from its URL", .needsTrust)
    func secure() async throws {
        let (squid, nginx) = (try Squid.shared(), try Nginx.shared())
        let url = nginx.tls(NginxSite.smallPath).absoluteString
        for door in [Squid.Door.basic, .digest] {
            let environment = ["https_proxy": "http://user:secret@127.0.0.1:\(squid.port(door))", "no_proxy": ""]
            let helper = try NginxTrust(nginx.site).startHelper("metrics", url, url, environment: environment)
            let lines = await helper.remainingLines()
            #expect(lines.count == 2 && lines.allSatisfy { $0.hasPrefix("h2 TLSv1") }, "\(lines), \(nginx.complaints)")
            #expect(lines.allSatisfy { $0.hasSuffix(" proxied") })
        }
    }

    @Test("squid serves files of FTP servers over HTTP")
    func ftp() async throws {
        let vsftpd = try Vsftpd.shared()
        let name = UUID().uuidString
        try vsftpd.publish(name, Data("hello".utf8))
        let session = URLSession.through(try Squid.shared().server(.basic))
        defer { session.invalidateAndCancel() }
        let result = await session.load(vsftpd.url("/upload/\(name)"))
        #expect(result.response?.statusCode == 200)
        #expect(result.text == "hello")
    }

    @Test(
        "Credentials, challenges and transfers work by NTLM",
        .enabled(if: CurlLibrary.hasNTLM, "this libcurl has no NTLM"),
        arguments: [false, true]
    )
    func ntlm(tunnel: Bool) async throws {
        try await credentials(door: .ntlm, tunnel: tunnel)
        try await challenges(door: .ntlm, tunnel: tunnel)
        try await transfers(door: .ntlm, tunnel: tunnel)
    }

    @Test("Downloads and uploads go through squid", arguments: [Squid.Door.basic, .digest], [false, true])
    func transfers(door: Squid.Door, tunnel: Bool) async throws {
        let nginx = try Nginx.shared()
        var server = try Squid.shared().server(door)
        server.alwaysTunnels = tunnel
        let session = URLSession.through(server)
        defer { session.invalidateAndCancel() }
        let (file, _) = try await session.download(from: nginx.plain(NginxSite.mebibytePath))
        defer { try? FileManager.default.removeItem(at: file) }
        #expect(try Data(contentsOf: file) == NginxSite.mebibyte)
        let name = UUID().uuidString
        let request = URLRequest(nginx.plain("/upload/\(name)"), method: "PUT")
        let (_, response) = try await session.upload(for: request, from: NginxSite.mebibyte)
        #expect((response as? HTTPURLResponse)?.statusCode == 201)
        #expect(try Data(contentsOf: nginx.site.upload(name)) == NginxSite.mebibyte)
    }
}
