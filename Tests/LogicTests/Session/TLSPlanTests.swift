import CurlTransport
import Foundation
import Testing

@testable import CurlNetworking

@Suite("What libcurl is told about TLS with an origin")
struct TLSPlanTests {
    private func settings(
        _ url: String,
        environment: [String: String] = [:],
        _ configure: (URLSessionConfiguration) -> Void = { _ in }
    ) throws -> [any ConnectionSettings] {
        let configuration = URLSessionConfiguration.ephemeral
        configure(configuration)
        let url = try Sample.url(url)
        let origin = try #require(Origin(url) ?? Origin.ofFTP(url))
        let plan = TLSPlan(configuration, environment: environment)
        return plan.connectionSettings(for: origin, HostRules(configuration.curl.hosts))
    }

    private static let file = CurlOptions.TLSOptions.CertificateSource.file(URL(fileURLWithPath: "/a.pem"))

    /// Nothing but whose certificates are trusted by default.
    private func isDefault(_ settings: [any ConnectionSettings]) -> Bool {
        settings.count == 1 && settings.first as? TrustStore === TrustStore.system
    }

    @Test("By default, libcurl is told only that the system's authorities are trusted")
    func nothing() throws {
        #expect(isDefault(try settings("https://example.com/")))
        let empty = ["SSL_CERT_FILE": "", "SSL_CERT_DIR": ""]
        #expect(isDefault(try settings("https://example.com/", environment: empty)))
    }

    @Test("A directory in the environment's list may be missing, as with OpenSSL, unless all are")
    func missingDirectory() throws {
        for (list, expected) in [("/missing:/etc:/", ["/etc", "/"]), ("/missing:/gone", ["/missing", "/gone"])] {
            let settings = try settings("https://example.com/", environment: ["SSL_CERT_DIR": list])
            let authorities = (settings.first as? TrustStore)?.content.authorities
            #expect(authorities == expected.map { .directory($0) })
        }
    }

    @Test("No authorities are read for hosts of which any certificate will do")
    func unverified() throws {
        let settings = try settings("https://example.com/") {
            $0.curl.hosts["example.com"].trustsAnyCertificate = true
        }
        #expect(settings.count == 1 && (settings.first as? TLSSettings)?.verifiesServer == false)
    }

    @Test("libcurl is told nothing about TLS for http, and is for ftp, which may be secured")
    func plain() throws {
        let counts = try ["http://example.com/", "ftp://example.com/"].map { url in
            try settings(url) { $0.curl.tls.trustRoots = [Self.file] }.count
        }
        #expect(counts == [0, 1])
    }

    @Test("The environment names authorities unless the program does")
    func environment() throws {
        let environment = ["SSL_CERT_FILE": "/e.pem", "SSL_CERT_DIR": "/one:/two"]
        let fromEnvironment = try settings("https://example.com/", environment: environment)
        #expect(
            (fromEnvironment.first as? TrustStore)?.content.authorities
                == [.file("/e.pem"), .directory("/one"), .directory("/two")]
        )
        let additional = try settings("https://example.com/", environment: environment) {
            $0.curl.tls.additionalTrustRoots = [Self.file]
        }
        #expect((additional.first as? TrustStore)?.content.authorities.count == 4)
        let own = try settings("https://example.com/", environment: environment) {
            $0.curl.tls.trustRoots = [Self.file]
        }
        #expect((own.first as? TrustStore)?.content.authorities == [.file("/a.pem")])
    }

    @Test("Additional authorities come behind the system's")
    func additional() throws {
        let settings = try settings("ftps://example.com/") { $0.curl.tls.additionalTrustRoots = [Self.file] }
        #expect((settings.first as? TrustStore)?.content.authorities == [.system, .file("/a.pem")])
    }

    @Test("Sessions with the same authorities share what was parsed of them")
    func sharedBySessions() throws {
        let stores = try (0..<2).map { _ in
            try #require(
                try settings("https://a.example/") { $0.curl.tls.additionalTrustRoots = [Self.file] }.first
                    as? TrustStore
            )
        }
        #expect(stores[0] === stores[1])
        let other = try settings("https://a.example/") { $0.curl.tls.trustRoots = [Self.file] }
        #expect(other.first as? TrustStore !== stores[0])
    }

    @Test("Origins with the same authorities share what was parsed of them")
    func sharing() throws {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.curl.tls.additionalTrustRoots = [Self.file]
        configuration.curl.hosts["b.example"].tls = configuration.curl.tls
        let plan = TLSPlan(configuration, environment: [:])
        let stores = try ["https://a.example/", "https://b.example/"].map { url in
            let origin = try #require(Origin(try Sample.url(url)))
            let settings = plan.connectionSettings(for: origin, HostRules(configuration.curl.hosts))
            return try #require(settings.first as? TrustStore)
        }
        #expect(stores[0] === stores[1])
    }

    @Test("A host's own options replace the session's; pins and the lack of verification join them")
    func hosts() throws {
        let configure = { (configuration: URLSessionConfiguration) in
            configuration.curl.tls.cipherSuites = ["A", "B"]
            configuration.curl.hosts["a.example"].publicKeyPins = ["sha256//x", "sha256//y"]
            configuration.curl.hosts["b.example"].tls = CurlOptions.TLSOptions()
            configuration.curl.hosts["c.example"].trustsAnyCertificate = true
        }
        let a = try #require(try settings("https://a.example/", configure).first as? TLSSettings)
        #expect(a.cipherList == "A:B")
        #expect(a.publicKeyPins == "sha256//x;sha256//y")
        #expect(a.verifiesServer)
        #expect(isDefault(try settings("https://b.example/", configure)))
        let c = try #require(try settings("https://c.example/", configure).first as? TLSSettings)
        #expect(!c.verifiesServer)
        #expect(c.cipherList == "A:B")
    }

    @Test("libcurl is told versions that differ from the default")
    func versions() throws {
        let settings = try settings("https://example.com/") { $0.tlsMinimumSupportedProtocolVersion = .TLSv13 }
        let tls = try #require(settings.first as? TLSSettings)
        #expect(tls.minimumVersion == 0x0304)
        #expect(tls.maximumVersion == nil)
    }

    @Test("An older maximum lowers the minimum where it applies, if the program has set none")
    func loweredMinimum() throws {
        let configure = { (configuration: URLSessionConfiguration) in
            configuration.tlsMaximumSupportedProtocolVersion = .TLSv11
            var other = CurlOptions.TLSOptions()
            other.maximumVersion = .TLSv13
            configuration.curl.hosts["new.example"].tls = other
        }
        let lowered = try #require(try settings("https://old.example/", configure).first as? TLSSettings)
        #expect(lowered.minimumVersion == 0x0302)
        #expect(lowered.maximumVersion == 0x0302)
        #expect(isDefault(try settings("https://new.example/", configure)))
    }

    @Test("Versions that contradict each other, or are of DTLS, fail the transfer")
    func impossibleVersions() throws {
        let versions: [(tls_protocol_version_t?, tls_protocol_version_t)] = [
            (.TLSv13, .TLSv12), (.TLSv12, .TLSv11), (nil, .DTLSv10), (.DTLSv12, .TLSv13),
        ]
        let origin = try #require(Origin(try Sample.url("https://example.com/")))
        for (minimum, maximum) in versions {
            let configuration = URLSessionConfiguration.ephemeral
            if let minimum { configuration.tlsMinimumSupportedProtocolVersion = minimum }
            configuration.tlsMaximumSupportedProtocolVersion = maximum
            let plan = TLSPlan(configuration, environment: [:])
            let hosts = HostRules(configuration.curl.hosts)
            #expect(throws: TransferFailure.self) { _ = try plan.peer(at: origin, hosts) }
            let settings = plan.connectionSettings(for: origin, hosts)
            #expect(settings.count == 1 && !(settings.first is TLSSettings))
        }
    }
}
