import CurlNetworking
import Foundation
import TestSupport
import Testing

@Suite("Trusted authorities", .timeLimit(.minutes(1)))
struct TLSTrustTests {
    typealias Source = CurlOptions.TLSOptions.CertificateSource

    private func load(_ nginx: TLSNginx, _ change: (inout CurlOptions) -> Void) async -> HandlerResult {
        let session = URLSession.forTest { change(&$0.curl) }
        defer { session.invalidateAndCancel() }
        return await session.load(nginx.url(.showing(.good)))
    }

    @Test("By default, only the system's authorities are trusted")
    func system() async throws {
        let result = try await load(.shared()) { _ in }
        #expect(result.error?.code == .serverCertificateHasUnknownRoot)
        #expect(result.response == nil)
    }

    /// The tests' authority in each of its forms.
    private static func sources(_ site: TLSSite) throws -> [Source] {
        [
            .file(site.authority), .file(site.authorityInDER), .directory(site.authorities),
            .data(try site.data("authority.pem")), .data(try site.data("authority.der")),
        ]
    }

    @Test(
        "An authority can be trusted besides the system's, or alone, from a file, a directory or memory",
        arguments: 0..<5
    )
    func sources(index: Int) async throws {
        let nginx = try TLSNginx.shared()
        let source = try Self.sources(nginx.site)[index]
        let additional = await load(nginx) { $0.tls.additionalTrustRoots = [source] }
        #expect(additional.text?.hasPrefix("TLSv1.3 ") == true, "\(additional)")
        let only = await load(nginx) { $0.tls.trustRoots = [source] }
        #expect(only.text?.hasPrefix("TLSv1.3 ") == true, "\(only)")
    }

    @Test("An authority of one host's isn't trusted for others")
    func perHost() async throws {
        let nginx = try TLSNginx.shared()
        let session = URLSession.forTest { configuration in
            var tls = CurlOptions.TLSOptions()
            tls.trustRoots = [.file(nginx.site.authority)]
            configuration.curl.hosts[nginx.pattern(.showing(.good))].tls = tls
        }
        defer { session.invalidateAndCancel() }
        #expect(await session.load(nginx.url(.showing(.good))).response?.statusCode == 200)
        #expect(await session.load(nginx.url(.new)).error?.code == .serverCertificateHasUnknownRoot)
        // Once more over a new connection, after another host had its turn.
        await session.reset()
        #expect(await session.load(nginx.url(.showing(.good))).response?.statusCode == 200)
    }

    @Test("The system's authorities count no longer where there are others instead")
    func only() async throws {
        let nginx = try TLSNginx.shared()
        let result = await load(nginx) { $0.tls.trustRoots = [.file(nginx.site.foreignAuthority)] }
        #expect(result.error?.code == .serverCertificateHasUnknownRoot)
    }

    @Test("A file that can't be read fails the task, which names it, and is read again for the next one")
    func missing() async throws {
        let nginx = try TLSNginx.shared()
        let directory = try TemporaryDirectory()
        let file = directory.url.appendingPathComponent("authority.pem")
        let session = URLSession.forTest { $0.curl.tls.additionalTrustRoots = [.file(file)] }
        defer { session.invalidateAndCancel() }
        let error = try #require(await session.load(nginx.url(.showing(.good))).error)
        #expect(error.code == .secureConnectionFailed)
        #expect(error.curlText?.hasPrefix(file.path) == true)
        try FileManager.default.copyItem(at: nginx.site.authority, to: file)
        #expect(await session.load(nginx.url(.showing(.good))).response?.statusCode == 200)
    }

    @Test("The environment names other authorities than the system's", arguments: ["SSL_CERT_FILE", "SSL_CERT_DIR"])
    func environment(variable: String) async throws {
        let nginx = try TLSNginx.shared()
        let value = variable == "SSL_CERT_FILE" ? nginx.site.authority.path : nginx.site.authorities.path
        let url = nginx.url(.showing(.good)).absoluteString
        let helper = try ChildProcess([TestHelper.path(), "get", url], environment: [variable: value])
        let lines = await helper.remainingLines()
        #expect(lines.count == 1 && lines[0].hasPrefix("200 "), "\(lines)")
    }

    @Test("A directory of authorities that appears after a session was created changes nothing for it")
    func laterDirectory() async throws {
        let nginx = try TLSNginx.shared()
        let directory = try TemporaryDirectory()
        let later = directory.url.appendingPathComponent("later")
        let helper = try ChildProcess(
            [TestHelper.path(), "get-when-told", nginx.url(.showing(.good)).absoluteString],
            environment: ["SSL_CERT_DIR": "\(later.path):\(nginx.site.authorities.path)"]
        )
        #expect(await helper.line() == "ready")
        try FileManager.default.createDirectory(at: later, withIntermediateDirectories: false)
        helper.say("load")
        let line = await helper.line() ?? ""
        #expect(line.hasPrefix("200 "), "\(line)")
    }

    @Test("FTP over TLS trusts the same authorities")
    func ftp() async throws {
        let server = try Vsftpd.overTLS()
        try server.publish("trusted", Data("hello".utf8))
        let authority = try Nginx.shared().site.authority
        let session = URLSession.forTest { $0.curl.tls.trustRoots = [.file(authority)] }
        defer { session.invalidateAndCancel() }
        let (data, _) = try await session.data(from: server.url("/upload/trusted"))
        #expect(data == Data("hello".utf8))
    }

    @Test("Many new connections need the authorities parsed only once")
    func cache() async throws {
        let nginx = try TLSNginx.shared()
        let file = try TemporaryDirectory()
        let copy = file.url.appendingPathComponent("authority.pem")
        try FileManager.default.copyItem(at: nginx.site.authority, to: copy)
        let session = URLSession.forTest { $0.curl.tls.trustRoots = [.file(copy)] }
        defer { session.invalidateAndCancel() }
        #expect(await session.load(nginx.url(.showing(.good))).response?.statusCode == 200)
        // It isn't looked for again.
        try FileManager.default.removeItem(at: copy)
        #expect(await session.load(nginx.url(.new)).response?.statusCode == 200)
        #expect(await session.load(nginx.url(.old)).response?.statusCode == 200)
    }

    @Test("A session needs nothing parsed that another one has")
    func sharing() async throws {
        let nginx = try TLSNginx.shared()
        let directory = try TemporaryDirectory()
        let copy = directory.url.appendingPathComponent("authority.pem")
        try FileManager.default.copyItem(at: nginx.site.authority, to: copy)
        let sessions = (0..<2).map { _ in URLSession.forTest { $0.curl.tls.trustRoots = [.file(copy)] } }
        defer { for session in sessions { session.invalidateAndCancel() } }
        #expect(await sessions[0].load(nginx.url(.showing(.good))).response?.statusCode == 200)
        try FileManager.default.removeItem(at: copy)
        #expect(await sessions[1].load(nginx.url(.showing(.good))).response?.statusCode == 200)
    }

    @Test("New connections read a file of authorities again once it has changed")
    func changing() async throws {
        let nginx = try TLSNginx.shared()
        let directory = try TemporaryDirectory()
        let file = directory.url.appendingPathComponent("authority.pem")
        try FileManager.default.copyItem(at: nginx.site.foreignAuthority, to: file)
        let session = URLSession.forTest { $0.curl.tls.trustRoots = [.file(file)] }
        defer { session.invalidateAndCancel() }
        let url = nginx.url(.showing(.good))
        #expect(await session.load(url).error?.code == .serverCertificateHasUnknownRoot)
        try FileManager.default.removeItem(at: file)
        #expect(await session.load(url).error?.code == .serverCertificateHasUnknownRoot)
        try Data("not a certificate".utf8).write(to: file)
        #expect(await session.load(url).error?.code == .serverCertificateHasUnknownRoot)
        try Data(contentsOf: nginx.site.authority).write(to: file)
        #expect(await session.load(url).response?.statusCode == 200)
    }

    @Test("A stapled answer about a certificate is verified with the session's authorities", arguments: [true, false])
    func stapledAnswer(isThere: Bool) async throws {
        let site = try TLSNginx.shared().site
        let directory = try TemporaryDirectory()
        let answer = directory.url.appendingPathComponent("good.ocsp").path
        let responder = try ChildProcess([
            "openssl", "ocsp", "-index", site.file("index.txt").path, "-CA", site.authority.path, "-rsigner",
            site.authority.path, "-rkey", site.file("authority.key").path, "-issuer", site.authority.path, "-cert",
            site.certificate(.good).path, "-respout", answer, "-ndays", "1",
        ])
        _ = await responder.remainingLines()
        let server = try await TalkingTLSServer(
            ["-cert_chain", site.authority.path] + (isThere ? ["-status_file", answer] : [])
        )
        defer { server.stop() }
        let session = URLSession.forTest {
            $0.curl.tls.trustRoots = [.file(site.authority)]
            $0.curl.configureTransfer = { transfer, _ in try transfer.set("SSL_VERIFYSTATUS", true) }
        }
        defer { session.invalidateAndCancel() }
        let loading = Task { await session.load(server.url) }
        if isThere {
            try await server.waitForRequest()
            session.invalidateAndCancel()
            #expect(await loading.value.error?.code == .cancelled)
        } else {
            #expect(await loading.value.error?.curlText?.contains("OCSP") == true)
        }
    }
}
