import CurlNetworking
import CurlNetworkingLoopbackServer
import Foundation
import TestSupport
import Testing

@Suite("How connections are encrypted", .timeLimit(.minutes(1)))
struct TLSOptionsTests {
    private func load(
        _ port: TLSNginx.Port,
        host: String = "127.0.0.1",
        _ configure: (URLSessionConfiguration) -> Void
    ) async throws -> HandlerResult {
        let nginx = try TLSNginx.shared()
        let session = URLSession.forTest { configuration in
            configuration.curl.tls.additionalTrustRoots = [.file(nginx.site.authority)]
            configure(configuration)
        }
        defer { session.invalidateAndCancel() }
        return await session.load(nginx.url(port, host: host))
    }

    // MARK: - Versions

    @Test("TLS 1.2 and 1.3 are spoken by default, the newer one first")
    func defaults() async throws {
        #expect(URLSessionConfiguration.default.tlsMinimumSupportedProtocolVersion == .TLSv12)
        #expect(URLSessionConfiguration.default.tlsMaximumSupportedProtocolVersion == .TLSv13)
        #expect(try await load(.showing(.good)) { _ in }.text?.hasPrefix("TLSv1.3 ") == true)
        #expect(try await load(.old) { _ in }.text?.hasPrefix("TLSv1.2 ") == true)
    }

    @Test("TLS 1.1 is refused even where OpenSSL allows it, unless the program wants it")
    func ancient() async throws {
        func load(_ configure: (URLSessionConfiguration) -> Void) async throws -> HandlerResult {
            try await self.load(.ancient) {
                $0.curl.tls.cipherSuites = ["DEFAULT@SECLEVEL=0"]
                configure($0)
            }
        }
        #expect(try await load { _ in }.error?.code == .secureConnectionFailed)
        #expect(
            try await load { $0.tlsMinimumSupportedProtocolVersion = .TLSv12 }.error?.code == .secureConnectionFailed
        )
        let wanted = try await load { $0.tlsMinimumSupportedProtocolVersion = .TLSv11 }
        #expect(wanted.text?.hasPrefix("TLSv1.1 ") == true, "\(String(describing: wanted.error))")
    }

    @Test("Apple's properties set the oldest and the newest version")
    func versions() async throws {
        let old = try await load(.showing(.good)) { $0.tlsMaximumSupportedProtocolVersion = .TLSv12 }
        #expect(old.text?.hasPrefix("TLSv1.2 ") == true)
        let refused = try await load(.old) { $0.tlsMinimumSupportedProtocolVersion = .TLSv13 }
        #expect(refused.error?.code == .secureConnectionFailed)
        let alsoRefused = try await load(.new) { $0.tlsMaximumSupportedProtocolVersion = .TLSv12 }
        #expect(alsoRefused.error?.code == .secureConnectionFailed)
    }

    @Test("A maximum of TLS 1.1 is enough to speak that, where OpenSSL allows it")
    func ancientMaximum() async throws {
        let result = try await load(.ancient) {
            $0.curl.tls.cipherSuites = ["DEFAULT@SECLEVEL=0"]
            $0.tlsMaximumSupportedProtocolVersion = .TLSv11
        }
        #expect(result.text?.hasPrefix("TLSv1.1 ") == true, "\(String(describing: result.error))")
    }

    @Test("Versions that contradict each other, or are of DTLS, fail tasks over TLS, and no others")
    func impossibleVersions() async throws {
        let versions: [(tls_protocol_version_t, tls_protocol_version_t, String)] = [
            (.TLSv13, .TLSv12, "newer than the newest"), (.TLSv12, .TLSv11, "newer than the newest"),
            (.TLSv12, .DTLSv12, "DTLS"), (.DTLSv10, .TLSv13, "DTLS"),
        ]
        for (minimum, maximum, reason) in versions {
            let rig = try Rig { _ in
                .text("plain")
            } configure: {
                $0.tlsMinimumSupportedProtocolVersion = minimum
                $0.tlsMaximumSupportedProtocolVersion = maximum
            }
            defer { rig.stop() }
            let url = try #require(URL(string: "https://127.0.0.1:\(rig.server.port)/"))
            let error = try #require(await rig.session.load(url).error)
            #expect(error.code == .secureConnectionFailed && error.failingURL == url)
            #expect(error.localizedDescription.contains(reason))
            #expect(rig.server.connectionCount == 0)
            #expect(await rig.session.load(rig.url("/")).text == "plain")
        }
    }

    @Test("A host's own versions have the say, and a copy of the configuration keeps them all")
    func hostVersions() async throws {
        let nginx = try TLSNginx.shared()
        let configuration = URLSessionConfiguration.ephemeral
        configuration.tlsMinimumSupportedProtocolVersion = .TLSv13
        configuration.curl.tls.trustRoots = [.file(nginx.site.authority)]
        var tls = configuration.curl.tls
        tls.minimumVersion = .TLSv12
        configuration.curl.hosts[nginx.pattern(.old)].tls = tls
        let session = URLSession(configuration: configuration)
        defer { session.invalidateAndCancel() }
        #expect(session.configuration.tlsMinimumSupportedProtocolVersion == .TLSv13)
        #expect(await session.load(nginx.url(.old)).text?.hasPrefix("TLSv1.2 ") == true)
        #expect(await session.load(nginx.url(.new)).text?.hasPrefix("TLSv1.3 ") == true)
    }

    // MARK: - Cipher suites

    @Test("Cipher suites can be chosen for TLS 1.2 and for 1.3")
    func suites() async throws {
        let old = try await load(.old) { $0.curl.tls.cipherSuites = ["ECDHE-ECDSA-AES128-GCM-SHA256"] }
        #expect(old.text?.hasPrefix("TLSv1.2 ECDHE-ECDSA-AES128-GCM-SHA256 ") == true)
        let new = try await load(.new) { $0.curl.tls.tls13CipherSuites = ["TLS_CHACHA20_POLY1305_SHA256"] }
        #expect(new.text?.hasPrefix("TLSv1.3 TLS_CHACHA20_POLY1305_SHA256 ") == true)
        let unknown = try await load(.old) { $0.curl.tls.cipherSuites = ["NO-SUCH-SUITE"] }
        #expect(unknown.error?.code == .secureConnectionFailed)
    }

    // MARK: - Pins

    @Test("A dot at the end of the host's name avoids no pin")
    func pinsOfAbsoluteName() async throws {
        let pin = try TLSNginx.shared().site.goodPin()
        let other = "sha256//" + Data(repeating: 7, count: 32).base64EncodedString()
        func load(_ pin: String) async throws -> HandlerResult {
            try await self.load(.showing(.good), host: "localhost.") {
                $0.curl.hosts["localhost"].names.addresses = ["127.0.0.1"]
                $0.curl.hosts["localhost"].publicKeyPins = [pin]
            }
        }
        let good = try await load(pin)
        #expect(good.response?.statusCode == 200, "\(String(describing: good.error))")
        #expect(try await load(other).error?.certificateProblem == .otherPublicKey)
    }

    @Test(
        "Another spelling of the host avoids no pin",
        arguments: [
            ("127.0.0.1", "127.1"), ("127.0.0.1", "2130706433"), ("127.0.0.1", "0x7f.1"), ("127.1", "127.0.0.1"),
            ("localhost", "%6Cocalhost"), ("localhost", "%EF%BD%8Cocalhost"),
        ]
    )
    func pinsOfSpellings(pinned: String, spelling: String) async throws {
        let pin = try TLSNginx.shared().site.goodPin()
        let other = "sha256//" + Data(repeating: 7, count: 32).base64EncodedString()
        let good = try await load(.showing(.good), host: spelling) { $0.curl.hosts[pinned].publicKeyPins = [pin] }
        #expect(good.response?.statusCode == 200, "\(String(describing: good.error))")
        let bad = try await load(.showing(.good), host: spelling) { $0.curl.hosts[pinned].publicKeyPins = [other] }
        #expect(bad.error?.certificateProblem == .otherPublicKey)
    }

    @Test("A server with a pinned key is let in, and no other")
    func pins() async throws {
        let nginx = try TLSNginx.shared()
        let pin = try nginx.site.goodPin()
        let other = "sha256//" + Data(repeating: 7, count: 32).base64EncodedString()
        let host = nginx.pattern(.showing(.good))
        let good = try await load(.showing(.good)) { $0.curl.hosts[host].publicKeyPins = [other, pin] }
        #expect(good.response?.statusCode == 200)
        let bad = try await load(.showing(.good)) { $0.curl.hosts[host].publicKeyPins = [other] }
        #expect(bad.error?.code == .serverCertificateUntrusted)
        #expect(bad.error?.certificateProblem == .otherPublicKey)
        let elsewhere = try await load(.new) { $0.curl.hosts[host].publicKeyPins = [other] }
        #expect(elsewhere.response?.statusCode == 200)
    }

    // MARK: - No verification

    @Test("A host may be left unverified, by name, and others stay verified")
    func unverified() async throws {
        let nginx = try TLSNginx.shared()
        for certificate in [TLSSite.Certificate.selfsigned, .wronghost, .expired] {
            let result = try await load(.showing(certificate)) {
                $0.curl.hosts[nginx.pattern(.showing(certificate))].trustsAnyCertificate = true
            }
            #expect(result.response?.statusCode == 200, "\(certificate)")
        }
        let other = try await load(.showing(.selfsigned)) {
            $0.curl.hosts[nginx.pattern(.showing(.wronghost))].trustsAnyCertificate = true
        }
        #expect(other.error?.code == .serverCertificateHasUnknownRoot)
    }

    @Test("A session that leaves a host unverified says so on standard error once, and by default nothing is said")
    func warning() async throws {
        let nginx = try TLSNginx.shared()
        let url = nginx.url(.showing(.selfsigned)).absoluteString
        let program = try TestHelper.path()
        let helper = try ChildProcess([program, "unverified", "127.0.0.1", url], mergesErrors: true)
        let lines = await helper.remainingLines()
        #expect(lines.count == 2)
        #expect(lines.first?.contains("\"127.0.0.1\" are not verified") == true, "\(lines)")
        #expect(lines.last?.hasPrefix("200 ") == true, "\(lines)")
        let other = try ChildProcess([program, "get", url], mergesErrors: true)
        #expect(await other.remainingLines().count == 1)
    }

    @Test("Pins hold where nothing else is verified")
    func pinnedUnverified() async throws {
        let nginx = try TLSNginx.shared()
        let host = nginx.pattern(.showing(.good))
        let result = try await load(.showing(.good)) { configuration in
            configuration.curl.hosts[host].trustsAnyCertificate = true
            configuration.curl.hosts[host].publicKeyPins = [
                "sha256//" + Data(repeating: 7, count: 32).base64EncodedString()
            ]
        }
        #expect(result.error?.code == .serverCertificateUntrusted)
    }
}
