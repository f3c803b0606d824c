import CurlNetworking
import CurlNetworkingLoopbackServer
import Foundation
import TestSupport
import Testing

// The proxy's certificate and that of `TLSNginx` have authorities of their own each.
@Suite("Trust in proxies over TLS", .timeLimit(.minutes(1)))
struct ProxyTrustTests {
    private static func session(
        _ authority: URL,
        proxyAuthority: URL?,
        isOnly: Bool = true,
        identity: TLSIdentity? = nil
    ) throws -> URLSession {
        var proxy = try Squid.shared().server(.tls)
        proxy.certificateAuthorities = proxyAuthority
        return URLSession.through(proxy) {
            $0.curl.tls.identity = identity
            if isOnly {
                $0.curl.tls.trustRoots = [.file(authority)]
            } else {
                $0.curl.tls.additionalTrustRoots = [.file(authority)]
            }
        }
    }

    @Test("The proxy's authorities vouch for the proxy, and the server's for the server", arguments: [true, false])
    func each(isOnly: Bool) async throws {
        let nginx = try TLSNginx.shared()
        let proxyAuthority = try Nginx.shared().site.authority
        let session = try Self.session(nginx.site.authority, proxyAuthority: proxyAuthority, isOnly: isOnly)
        defer { session.invalidateAndCancel() }
        for _ in 0..<3 {
            let result = await session.load(nginx.url(.showing(.good)))
            #expect(result.response?.statusCode == 200, "\(result)")
            await session.reset()
        }
    }

    @Test("The proxy's authorities vouch for no server")
    func server() async throws {
        let nginx = try TLSNginx.shared()
        let site = try Nginx.shared()
        let session = try Self.session(nginx.site.authority, proxyAuthority: site.site.authority)
        defer { session.invalidateAndCancel() }
        for _ in 0..<3 {
            let result = await session.load(site.tls(NginxSite.smallPath))
            #expect(result.response == nil)
            // What is wrong with the certificate, libcurl forgets while it tells the server through the proxy's TLS.
            let codes: [URLError.Code?] = [.secureConnectionFailed, .serverCertificateHasUnknownRoot]
            #expect(codes.contains(result.error?.code), "\(result)")
        }
    }

    @Test(
        "With a client certificate, too, the server must be the URL's host, and the proxy its own",
        arguments: [true, false]
    )
    func host(isRight: Bool) async throws {
        let nginx = try TLSNginx.shared()
        let proxyAuthority = try Nginx.shared().site.authority
        let session = try Self.session(
            nginx.site.authority,
            proxyAuthority: proxyAuthority,
            identity: .pem(certificates: .file(nginx.site.clientWithKey))
        )
        defer { session.invalidateAndCancel() }
        let result = await session.load(nginx.url(.showing(isRight ? .good : .wronghost)))
        #expect(result.response?.statusCode == (isRight ? 200 : nil), "\(result)")
        #expect(result.error?.code == (isRight ? nil : .serverCertificateUntrusted))
        #expect(result.error?.certificateProblem == (isRight ? nil : .wrongHost))
    }

    @Test("The server's authorities vouch for no proxy")
    func proxy() async throws {
        let nginx = try TLSNginx.shared()
        let site = try Nginx.shared()
        let session = try Self.session(site.site.authority, proxyAuthority: nginx.site.authority)
        defer { session.invalidateAndCancel() }
        for _ in 0..<3 {
            let result = await session.load(site.tls(NginxSite.smallPath))
            #expect(result.error?.code == .serverCertificateUntrusted, "\(result)")
            #expect(result.error?.localizedDescription.hasPrefix("The proxy's certificate") ?? false)
        }
    }

    @Test("The environment's authorities vouch for a proxy too", arguments: ["SSL_CERT_FILE", "SSL_CERT_DIR"])
    func environment(variable: String) async throws {
        let site = try Nginx.shared()
        let origin = try LoopbackServer { _ in .text("hello") }
        defer { origin.stop() }
        let directory = try TemporaryDirectory()
        var authorities = site.site.authority
        if variable == "SSL_CERT_DIR" {
            try FileManager.default.copyItem(at: authorities, to: directory.url.appendingPathComponent("authority.pem"))
            authorities = directory.url
            _ = try await ChildProcess(["openssl", "rehash", authorities.path]).remainingLines()
        }
        let proxy = "https://127.0.0.1:\(try Squid.shared().port(.tls))"
        let helper = try ChildProcess(
            [TestHelper.path(), "get", origin.url("/").absoluteString, site.tls(NginxSite.smallPath).absoluteString],
            environment: [variable: authorities.path, "http_proxy": proxy, "https_proxy": proxy, "no_proxy": ""]
        )
        let lines = await helper.remainingLines()
        #expect(lines.count == 2 && lines.allSatisfy { $0.hasPrefix("200 ") }, "\(lines)")
        #expect(origin.requests.first?.header("Via") != nil)
    }

    // Three handshakes with the proxy and three with the server behind it, by turns.
    @Test("An FTP server behind the proxy is trusted by the session's authorities, on all of its connections")
    func ftp() async throws {
        let site = try Nginx.shared()
        let server = try Vsftpd.overTLS()
        let session = try Self.session(site.site.authority, proxyAuthority: site.site.authority)
        defer { session.invalidateAndCancel() }
        for _ in 0..<2 {
            let name = UUID().uuidString
            try server.publish(name, Data("hello".utf8))
            let result = await session.load(server.url("/upload/\(name)"))
            #expect(result.text == "hello", "\(result)")
        }
    }

    // Both are 127.0.0.1, and neither is told a name.
    @Test("A delegate is asked about the server, and never about the proxy", arguments: [true, false])
    func asked(trustsProxy: Bool) async throws {
        let nginx = try TLSNginx.shared()
        let asked = Watched<[ServerTrust]>([])
        let delegate = TLSTrustChallengeTests.SessionLevel { challenge, answer in
            guard let trust = challenge.protectionSpace.serverTrust else { return answer(.performDefaultHandling, nil) }
            asked.update { $0.append(trust) }
            answer(.useCredential, URLCredential(trust: trust))
        }
        var proxy = try Squid.shared().server(.tls)
        if !trustsProxy { proxy.certificateAuthorities = nginx.site.authority }
        let session = URLSession.through(proxy, delegate: delegate)
        defer { session.invalidateAndCancel() }
        let result = await session.load(nginx.url(.showing(.selfsigned)))
        guard trustsProxy else {
            #expect(result.error?.code == .serverCertificateUntrusted, "\(result)")
            #expect(asked.value.isEmpty)
            return
        }
        #expect(result.response?.statusCode == 200, "\(result)")
        let certificate = try String(contentsOf: nginx.site.certificate(.selfsigned), encoding: .utf8)
        #expect(asked.value.map(\.pemCertificates) == [[certificate]])
    }
}
