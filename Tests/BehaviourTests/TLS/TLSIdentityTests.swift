import CurlNetworking
import Foundation
import Glibc
import TestSupport
import Testing

@Suite("A client's certificate", .timeLimit(.minutes(1)))
struct TLSIdentityTests {
    private func load(
        _ port: TLSNginx.Port,
        _ identity: (TLSSite) throws -> TLSIdentity
    ) async throws -> HandlerResult {
        let nginx = try TLSNginx.shared()
        let identity = try identity(nginx.site)
        let session = URLSession.trusting(nginx) { $0.tls.identity = identity }
        defer { session.invalidateAndCancel() }
        return await session.load(nginx.url(port))
    }

    static let forms: [@Sendable (TLSSite) throws -> TLSIdentity] = [
        { .pem(certificates: .file($0.client), privateKey: .file($0.clientKey)) },
        { .pem(certificates: .data(try $0.data("client.pem")), privateKey: .data(try $0.data("client.key"))) },
        { .pem(certificates: .file($0.clientWithKey)) },
        { .pem(certificates: .data(try $0.data("both.pem"))) },
        {
            .pem(certificates: .file($0.client), privateKey: .file($0.lockedClientKey), passphrase: TLSSite.passphrase)
        },
        { .pkcs12(.file($0.clientBundle), passphrase: TLSSite.passphrase) },
        { .pkcs12(.data(try $0.data("client.p12")), passphrase: TLSSite.passphrase) },
    ]

    @Test(
        "A client certificate is shown to a server that asks, in each form and with a passphrase or without",
        arguments: forms.indices
    )
    func shown(index: Int) async throws {
        for port in [TLSNginx.Port.asking, .askingInOldWay] {
            let result = try await load(port, Self.forms[index])
            #expect(result.text?.hasSuffix("[CN=a client]") == true, "\(result)")
        }
    }

    @Test("Without a client certificate, the answer of a server that asks for one is delivered")
    func none() async throws {
        let nginx = try TLSNginx.shared()
        let session = URLSession.trusting(nginx)
        defer { session.invalidateAndCancel() }
        let result = await session.load(nginx.url(.asking))
        #expect(result.response?.statusCode == 400)
        #expect(result.text?.contains("No required SSL certificate was sent") == true)
    }

    @Test("A client certificate that can't be used fails the task")
    func broken() async throws {
        let wrong = try await load(.asking) { .pkcs12(.file($0.clientBundle), passphrase: "wrong") }
        #expect(wrong.error?.code == .clientCertificateRejected)
        let missing = try await load(.asking) { .pem(certificates: .file($0.file("nothing.pem"))) }
        #expect(missing.error?.code == .clientCertificateRejected)
        let mismatched = try await load(.asking) {
            .pem(certificates: .file($0.client), privateKey: .file($0.key(.good)))
        }
        #expect(mismatched.error?.code == .clientCertificateRejected)
        for error in [wrong.error, missing.error, mismatched.error] {
            #expect(error?.userInfo[CurlErrorKey.code] as? Int == 58)
            #expect(error?.phase == "securing")
        }
    }

    @Test("A client certificate's encrypted key fails the task without a passphrase, and the user isn't asked for it")
    func locked() async throws {
        let nginx = try TLSNginx.shared()
        await #expect(processExitsWith: .success) {
            [
                url = nginx.url(.asking) as URL, authority = nginx.site.authority as URL,
                client = nginx.site.client as URL, key = nginx.site.lockedClientKey as URL
            ] in
            // Without a terminal, OpenSSL asks the standard input.
            _ = setsid()
            let input = Pipe()
            try input.fileHandleForWriting.write(contentsOf: Data((TLSSite.passphrase + "\n").utf8))
            try input.fileHandleForWriting.close()
            #expect(dup2(input.fileHandleForReading.fileDescriptor, STDIN_FILENO) == STDIN_FILENO)
            let identities: [TLSIdentity] = [
                .pem(certificates: .file(client), privateKey: .file(key)),
                .pem(certificates: .data(try Data(contentsOf: client)), privateKey: .data(try Data(contentsOf: key))),
            ]
            for identity in identities {
                let session = URLSession.forTest {
                    $0.curl.tls.additionalTrustRoots = [.file(authority)]
                    $0.curl.tls.identity = identity
                }
                #expect(await session.load(url).error?.code == .clientCertificateRejected)
                session.invalidateAndCancel()
            }
            #expect(try FileHandle.standardInput.readToEnd() == Data((TLSSite.passphrase + "\n").utf8))
        }
    }

    @Test("A server that isn't trusted isn't shown the client certificate", arguments: ["-tls1_2", "-tls1_3"])
    func untrusted(version: String) async throws {
        let server = try await TalkingTLSServer([version, "-verify", "1", "-msg"])
        defer { server.stop() }
        let session = URLSession.forTest { $0.curl.tls.identity = .pem(certificates: .file(server.site.clientWithKey)) }
        defer { session.invalidateAndCancel() }
        #expect(await session.load(server.url).error?.code == .serverCertificateHasUnknownRoot)
        await expectNoCertificate(at: server)
    }

    @Test(
        "A server that is trusted as another host isn't shown the client certificate",
        arguments: ["-tls1_2", "-tls1_3"]
    )
    func otherHost(version: String) async throws {
        let site = try TLSNginx.shared().site
        let identity = ["-cert", site.certificate(.wronghost).path, "-key", site.key(.wronghost).path]
        let server = try await TalkingTLSServer([version, "-verify", "1", "-msg"] + identity)
        defer { server.stop() }
        let session = URLSession.forTest {
            $0.curl.tls.trustRoots = [.file(site.authority)]
            $0.curl.tls.identity = .pem(certificates: .file(site.clientWithKey))
        }
        defer { session.invalidateAndCancel() }
        let error = try #require(await session.load(server.url).error)
        #expect(error.code == .serverCertificateUntrusted)
        #expect(error.certificateProblem == .wrongHost)
        #expect(error.userInfo[CurlErrorKey.verification] as? Int == 64)
        #expect(error.curlCode == .peerFailedVerification)
        #expect(
            error.curlText == "SSL: no alternative certificate subject name matches target host name '127.0.0.1'"
        )
        await expectNoCertificate(at: server)
    }

    /// Checks that `server`, which was started with `-msg`, receives none before the connection ends.
    private func expectNoCertificate(at server: TalkingTLSServer) async {
        while let line = await server.line(), !["DONE", "ERROR"].contains(line) {
            guard line.hasPrefix("<<< ") else { continue }
            #expect(!line.hasSuffix(", Certificate"))
            if line.contains("Alert ") { break }
        }
    }

    @Test("A client certificate that is set for one host isn't shown to others")
    func perHost() async throws {
        let nginx = try TLSNginx.shared()
        let session = URLSession.trusting(nginx) { curl in
            var tls = curl.tls
            tls.identity = .pem(certificates: .file(nginx.site.clientWithKey))
            curl.hosts[nginx.pattern(.asking)].tls = tls
        }
        defer { session.invalidateAndCancel() }
        #expect(await session.load(nginx.url(.asking)).response?.statusCode == 200)
        #expect(await session.load(nginx.url(.askingInOldWay)).response?.statusCode == 400)
    }

    @Test("A client certificate that the server turns down by an alert is clientCertificateRejected")
    func rejected() async throws {
        let peer = try await AlertingServer(["-tls1_2"])
        let session = peer.session {
            $0.tls.identity = .pem(
                certificates: .file(peer.site.certificate(.selfsigned)),
                privateKey: .file(peer.site.key(.selfsigned))
            )
        }
        defer { session.invalidateAndCancel() }
        let error = try #require(await session.load(peer.url).error)
        #expect(error.code == .clientCertificateRejected)
        #expect(error.curlText?.contains("alert") == true)
    }

    @Test(
        "A client certificate that the server finds expired is clientCertificateRejected too",
        arguments: ["-tls1_2", "-tls1_3"]
    )
    func expired(version: String) async throws {
        let peer = try await AlertingServer([version])
        let session = peer.session {
            $0.tls.identity = .pem(
                certificates: .file(peer.site.certificate(.expired)),
                privateKey: .file(peer.site.key(.expired))
            )
        }
        defer { session.invalidateAndCancel() }
        let error = try #require(await session.load(peer.url).error)
        #expect(error.code == .clientCertificateRejected)
        #expect(error.certificateProblem == nil)
        #expect(error.localizedDescription.contains("expired"))
    }

    @Test("A server that ends the connection for want of a client certificate is clientCertificateRequired")
    func required() async throws {
        let peer = try await AlertingServer(["-tls1_3"])
        let session = peer.session()
        defer { session.invalidateAndCancel() }
        #expect(await session.load(peer.url).error?.code == .clientCertificateRequired)
    }
}
