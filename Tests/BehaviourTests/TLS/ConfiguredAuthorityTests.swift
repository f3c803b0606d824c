import CurlNetworking
import Foundation
import TestSupport
import Testing

@Suite("Authorities that are set on a transfer as options of libcurl", .timeLimit(.minutes(1)))
struct ConfiguredAuthorityTests {
    private static let options = ["CAINFO", "CAINFO_BLOB", "CAPATH"]

    private static func set(_ option: String, of site: TLSSite, on transfer: inout CurlTransfer) throws {
        switch option {
        case "CAINFO": try transfer.set("CAINFO", site.authority.path)
        case "CAPATH": try transfer.set("CAPATH", site.authorities.path)
        default: try transfer.set("CAINFO_BLOB", try site.data("authority.pem"))
        }
    }

    @Test(
        "Authorities that are set on a transfer replace the session's",
        arguments: options,
        ["none", "others", "additional"]
    )
    func replacing(option: String, own: String) async throws {
        let nginx = try TLSNginx.shared()
        let session = URLSession.forTest {
            switch own {
            case "others": $0.curl.tls.trustRoots = [.file(nginx.site.foreignAuthority)]
            case "additional": $0.curl.tls.additionalTrustRoots = [.file(nginx.site.foreignAuthority)]
            default: break
            }
            $0.curl.configureTransfer = { transfer, _ in try Self.set(option, of: nginx.site, on: &transfer) }
        }
        defer { session.invalidateAndCancel() }
        let result = await session.load(nginx.url(.showing(.good)))
        #expect(result.response?.statusCode == 200, "\(result)")
    }

    @Test("The session's own authorities don't count on a transfer that has some set")
    func only() async throws {
        let nginx = try TLSNginx.shared()
        let foreign = nginx.site.foreignAuthority.path
        let session = URLSession.forTest {
            $0.curl.tls.trustRoots = [.file(nginx.site.authority)]
            $0.curl.configureTransfer = { transfer, _ in try transfer.set("CAINFO", foreign) }
        }
        defer { session.invalidateAndCancel() }
        let result = await session.load(nginx.url(.showing(.good)))
        #expect(result.error?.code == .serverCertificateHasUnknownRoot, "\(result)")
    }

    @Test(
        "libcurl itself reads no authorities but those that are set on the transfer",
        arguments: [nil, "CAINFO", "CAPATH"] as [String?]
    )
    func read(option: String?) async throws {
        let nginx = try TLSNginx.shared()
        let lines = Watched<[String]>([])
        let session = URLSession.forTest {
            $0.curl.tls.trustRoots = [.file(nginx.site.authority)]
            if let option {
                $0.curl.configureTransfer = { transfer, _ in try Self.set(option, of: nginx.site, on: &transfer) }
            }
            $0.curl.trace = CurlOptions.Trace { _, event in
                if [.text, .headerIn].contains(event.kind) { lines.update { $0.append(event.text) } }
            }
        }
        defer { session.invalidateAndCancel() }
        #expect(await session.load(nginx.url(.showing(.good))).response?.statusCode == 200)
        try await lines.wait { $0.contains { $0.hasPrefix("HTTP/") } }
        let named = lines.value.filter { $0.contains("CAfile: ") || $0.contains("CApath: ") }
        let allowed = ["none", "/dev/null", nginx.site.authority.path, nginx.site.authorities.path]
        #expect(named.allSatisfy { line in allowed.contains { line.hasSuffix(": \($0)") } }, "\(named)")
        #expect(named.contains { $0.contains(nginx.site.directory.path) } == (option != nil), "\(named)")
    }

    @Test("A FIFO is no file of authorities, and nothing waits for it")
    func fifo() async throws {
        let nginx = try TLSNginx.shared()
        let directory = try TemporaryDirectory()
        let fifo = directory.url.appendingPathComponent("fifo")
        #expect(mkfifo(fifo.path, 0o600) == 0)
        let session = URLSession.forTest { $0.curl.tls.trustRoots = [.file(fifo)] }
        defer { session.invalidateAndCancel() }
        let error = await session.load(nginx.url(.showing(.good))).error
        #expect(error?.code == .secureConnectionFailed)
        #expect(error?.localizedDescription.contains("not a regular file") == true)
    }

    @Test("Authorities that are set on a transfer are trusted by no other one", arguments: options)
    func nobodyElses(option: String) async throws {
        let nginx = try TLSNginx.shared()
        let trusting = nginx.url(.showing(.good))
        let session = URLSession.forTest {
            $0.curl.tls.trustRoots = [.file(nginx.site.foreignAuthority)]
            $0.curl.configureTransfer = { transfer, request in
                if request.url == trusting { try Self.set(option, of: nginx.site, on: &transfer) }
            }
        }
        defer { session.invalidateAndCancel() }
        let first = await session.load(trusting)
        #expect(first.response?.statusCode == 200, "\(first)")
        for url in [nginx.url(.new), nginx.url(.showing(.good), "/other")] {
            let result = await session.load(url)
            #expect(result.error?.code == .serverCertificateHasUnknownRoot, "\(result)")
        }
    }

    @Test("A revocation list counts for the transfer that it is set on, and for no other one")
    func revocationList() async throws {
        let nginx = try TLSNginx.shared()
        let list = nginx.site.revocationList.path
        let session = URLSession.forTest {
            $0.curl.tls.trustRoots = [.file(nginx.site.authority)]
            $0.curl.configureTransfer = { transfer, request in
                try transfer.set("FRESH_CONNECT", true)
                try transfer.set("SSL_SESSIONID_CACHE", false)
                if request.url?.path == "/listed" { try transfer.set("CRLFILE", list) }
            }
        }
        defer { session.invalidateAndCancel() }
        #expect(await session.load(nginx.url(.showing(.good), "/listed")).response != nil)
        for _ in 1...2 {
            let listed = await session.load(nginx.url(.showing(.revoked), "/listed"))
            #expect(listed.error?.code == .serverCertificateUntrusted, "\(listed)")
            let unlisted = await session.load(nginx.url(.showing(.revoked)))
            #expect(unlisted.response?.statusCode == 200, "\(unlisted)")
        }
    }

    @Test("Intermediates are no authorities for a transfer that says so")
    func partialChain() async throws {
        let nginx = try TLSNginx.shared()
        let session = URLSession.forTest {
            $0.curl.tls.trustRoots = [.file(nginx.site.certificate(.good))]
            $0.curl.configureTransfer = { transfer, request in
                try transfer.set("FRESH_CONNECT", true)
                try transfer.set("SSL_SESSIONID_CACHE", false)
                // CURLSSLOPT_NO_PARTIALCHAIN
                if request.url?.path == "/whole" { try transfer.set("SSL_OPTIONS", 4) }
            }
        }
        defer { session.invalidateAndCancel() }
        for _ in 1...2 {
            #expect(await session.load(nginx.url(.showing(.good))).response?.statusCode == 200)
            let whole = await session.load(nginx.url(.showing(.good), "/whole"))
            #expect(whole.error?.code == .serverCertificateHasUnknownRoot, "\(whole)")
        }
    }

    @Test("libcurl's cache of authorities doesn't hand one host's on to another")
    func cache() async throws {
        let nginx = try TLSNginx.shared()
        let session = URLSession.forTest {
            $0.curl.hosts[nginx.pattern(.showing(.good))].tls = CurlOptions.TLSOptions(trustRoots: nginx.site.authority)
            $0.curl.hosts[nginx.pattern(.new)].tls = CurlOptions.TLSOptions(trustRoots: nginx.site.foreignAuthority)
            $0.curl.configureTransfer = { transfer, _ in try transfer.set("CA_CACHE_TIMEOUT", 1000) }
        }
        defer { session.invalidateAndCancel() }
        #expect(await session.load(nginx.url(.showing(.good))).response?.statusCode == 200)
        let other = await session.load(nginx.url(.new))
        #expect(other.error?.code == .serverCertificateHasUnknownRoot, "\(other)")
    }
}

extension CurlOptions.TLSOptions {
    fileprivate init(trustRoots file: URL) {
        self.init()
        trustRoots = [.file(file)]
    }
}
