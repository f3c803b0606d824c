import CurlTransport
import Foundation
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("What libcurl is told about TLS with an origin")
struct TLSPlanTests {
    private static func plan(
        _ configuration: URLSessionConfiguration,
        environment: [String: String] = [:]
    ) -> TLSPlan {
        TLSPlan(configuration, HostRules(configuration.curl.hosts), environment: environment)
    }

    private func settings(
        _ url: String,
        environment: [String: String] = [:],
        _ configure: (URLSessionConfiguration) -> Void = { _ in }
    ) throws -> [any ConnectionSettings] {
        let configuration = URLSessionConfiguration.ephemeral
        configure(configuration)
        let url = try Sample.url(url)
        let origin = try #require(Origin(url) ?? Origin.ofFTP(url))
        return Self.plan(configuration, environment: environment).connectionSettings(for: origin)
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
        let plan = Self.plan(configuration)
        let stores = try ["https://a.example/", "https://b.example/"].map { url in
            let origin = try #require(Origin(try Sample.url(url)))
            let settings = plan.connectionSettings(for: origin)
            return try #require(settings.first as? TrustStore)
        }
        #expect(stores[0] === stores[1])
    }

    @Test("Files of authorities are other ones though their paths are equal to Swift")
    func equivalentPaths() throws {
        let stores = try ["/\u{E9}.pem", "/e\u{301}.pem"].map { path in
            let file = CurlOptions.TLSOptions.CertificateSource.file(URL(fileURLWithPath: path))
            let settings = try settings("https://a.example/") { $0.curl.tls.trustRoots = [file] }
            return try #require(settings.first as? TrustStore)
        }
        #expect(stores[0] !== stores[1])
    }

    /// What is trusted at a host: for libcurl's connections, for others, and in the cache.
    private struct Trust: Equatable {
        let store, peer: TrustStore.Content?
        let mark: String?

        init(_ plan: TLSPlan, at host: String) throws {
            let origin = try #require(Origin(try Sample.url("https://\(host)/")))
            store = plan.connectionSettings(for: origin).lazy.compactMap { $0 as? TrustStore }.first?.content
            peer = try plan.peer(at: origin).trust?.content
            mark = plan.trustMark(for: origin)
        }
    }

    private static let hosts = ["a.example", "b.example"]

    /// Trusts the environment's authorities and another one, with options of its own for one host.
    private static func plan(environment: [String: String]) -> TLSPlan {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.curl.tls.additionalTrustRoots = [file]
        var other = configuration.curl.tls
        other.revocationLists = [URL(fileURLWithPath: "/revoked.crl")]
        configuration.curl.hosts[hosts[1]].tls = other
        return plan(configuration, environment: environment)
    }

    @Test("A directory in the environment's list that appears or vanishes later changes nothing for a session")
    func laterDirectories() throws {
        let directory = try TemporaryDirectory()
        let folders = ["gone", "kept", "new"].map { directory.url.appendingPathComponent($0) }
        for folder in folders[..<2] {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        }
        let environment = ["SSL_CERT_DIR": folders.map(\.path).joined(separator: ":")]
        let plan = Self.plan(environment: environment)
        let before = try Self.hosts.map { try Trust(plan, at: $0) }
        #expect(before.allSatisfy { $0.mark != nil && $0.peer != nil && $0.store == $0.peer })
        try FileManager.default.removeItem(at: folders[0])
        try FileManager.default.createDirectory(at: folders[2], withIntermediateDirectories: false)
        #expect(try Self.hosts.map { try Trust(plan, at: $0) } == before)
        // A later session has what is there by then.
        let later = Self.plan(environment: environment)
        for (host, former) in zip(Self.hosts, before) {
            let trust = try Trust(later, at: host)
            #expect(trust.store != former.store && trust.mark != former.mark)
        }
    }

    @Test("Certificates in memory are read when a session is created, and never again")
    func memory() throws {
        let text = Array("-----BEGIN CERTIFICATE-----\nQUJD\n-----END CERTIFICATE-----\n".utf8)
        let bytes = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: text.count)
        defer { bytes.deallocate() }
        _ = bytes.initialize(from: text)
        let start = try #require(bytes.baseAddress)
        let data = Data(bytesNoCopy: start, count: bytes.count, deallocator: .none)
        let configuration = URLSessionConfiguration.ephemeral
        configuration.curl.tls.trustRoots = [.data(data)]
        configuration.curl.hosts[Self.hosts[1]].tls = CurlOptions.TLSOptions()
        configuration.curl.hosts[Self.hosts[1]].tls?.additionalTrustRoots = [.data(data)]
        let plan = Self.plan(configuration)
        let before = try Self.hosts.map { try Trust(plan, at: $0) }
        #expect(before.allSatisfy { $0.mark != nil && $0.peer != nil && $0.store == $0.peer })
        // Whoever looked there now would find no certificate.
        bytes.update(repeating: UInt8(ascii: " "))
        #expect(data.first == UInt8(ascii: " "))
        #expect(try Self.hosts.map { try Trust(plan, at: $0) } == before)
    }

    @Test("The environment's authorities vouch for https proxies without their own, and the session's for no proxy")
    func proxies() throws {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.curl.tls.trustRoots = [Self.file]
        var proxy = CurlOptions.ProxyServer(.https, host: "proxy.example", port: 1)
        #expect(Self.plan(configuration).connectionSettings(through: proxy).isEmpty)

        let plan = Self.plan(configuration, environment: ["SSL_CERT_FILE": "/e.pem", "SSL_CERT_DIR": "/one:/two"])
        let settings = plan.connectionSettings(through: proxy)
        let trust = try #require(settings.first as? ProxyTrust)
        #expect(settings.count == 1)
        #expect(trust.store.content.authorities == [.file("/e.pem"), .directory("/one"), .directory("/two")])

        proxy.certificateAuthorities = URL(fileURLWithPath: "/p.pem")
        #expect(plan.connectionSettings(through: proxy).isEmpty)
        for scheme in CurlOptions.ProxyServer.Scheme.allCases where scheme != .https {
            let other = CurlOptions.ProxyServer(scheme, host: "proxy.example", port: 1)
            #expect(plan.connectionSettings(through: other).isEmpty)
        }
    }

    @Test("Authorities and pins have a mark, the same in every session, and the system's authorities alone have none")
    func marks() throws {
        func mark(_ configure: (inout CurlOptions) -> Void) throws -> String? {
            let configuration = URLSessionConfiguration.ephemeral
            configure(&configuration.curl)
            return try Trust(Self.plan(configuration), at: "a.example").mark
        }
        #expect(try mark { _ in } == nil)
        let marks = try (0..<2).map { _ in
            [
                try mark { $0.tls.trustRoots = [Self.file] },
                try mark { $0.tls.additionalTrustRoots = [Self.file] },
                try mark { $0.hosts["*"].publicKeyPins = ["sha256//x"] },
                try mark {
                    $0.tls.trustRoots = [Self.file]
                    $0.hosts["*"].publicKeyPins = ["sha256//x"]
                },
            ]
        }
        #expect(marks[0] == marks[1])
        #expect(Set(marks[0].compactMap(\.self)).count == 4)
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
            let plan = Self.plan(configuration)
            #expect(throws: TransferFailure.self) { _ = try plan.peer(at: origin) }
            let settings = plan.connectionSettings(for: origin)
            #expect(settings.count == 1 && !(settings.first is TLSSettings))
        }
    }
}
