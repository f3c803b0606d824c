import CurlNetworking
import Foundation
import TestSupport
import Testing

@Suite("Sessions that share a cache, but not whom they trust and who they are", .timeLimit(.minutes(1)))
struct CacheTLSTests {
    private let cache = CurlURLCache(memoryCapacity: 1 << 20, diskCapacity: 0, diskPath: nil)
    private let nginx: TLSNginx

    init() throws {
        nginx = try TLSNginx.shared()
    }

    private func session(
        delegate: (any URLSessionDelegate)? = nil,
        _ configure: (inout CurlOptions) -> Void = { _ in }
    ) -> URLSession {
        URLSession.forTest(delegate: delegate) { configuration in
            configuration.urlCache = cache
            configuration.curl.tls.additionalTrustRoots = [.file(nginx.site.authority)]
            configure(&configuration.curl)
        }
    }

    @Test("A response that came over an unverified connection isn't stored", arguments: [false, true])
    func unverified(asksDelegate: Bool) async throws {
        let url = nginx.url(.showing(.selfsigned), "/?cc=public,max-age=600")
        let careless =
            asksDelegate
            ? session(delegate: TLSTrustChallengeTests.accepting())
            : session { $0.hosts["127.0.0.1"].trustsAnyCertificate = true }
        defer { careless.invalidateAndCancel() }
        #expect(await careless.load(url).response?.statusCode == 200)
        #expect(cache.cachedResponse(for: URLRequest(url: url)) == nil)
        let strict = session()
        defer { strict.invalidateAndCancel() }
        #expect(await strict.load(url).error?.certificateProblem != nil)
    }

    /// Whom sessions trust besides the system's authorities, and a change of that.
    private static let changes: [String: @Sendable (inout CurlOptions) -> Void] = [
        "authorities": { $0.tls.additionalTrustRoots = [] },
        "a host's authorities": { $0.hosts["127.0.0.1"].tls = CurlOptions.TLSOptions() },
        "pins": { $0.hosts["127.0.0.1"].publicKeyPins = ["sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="] },
    ]

    @Test(
        "A response from a server that one session trusts isn't given to a session that doesn't",
        arguments: changes.keys.sorted()
    )
    func otherAuthorities(change: String) async throws {
        let url = nginx.url(.showing(.good), "/?cc=public,max-age=600")
        let (trusting, same) = (session(), session())
        let other = session(try #require(Self.changes[change]))
        defer { for session in [trusting, same, other] { session.invalidateAndCancel() } }
        #expect(await trusting.load(url).response?.statusCode == 200)
        #expect(await other.load(url).error?.code != nil)
        let stored = await same.load(url).response
        #expect(stored?.statusCode == 200 && stored?.value(forHTTPHeaderField: "Age") != nil)
    }

    @Test("A response from a server that only configureTransfer trusts isn't stored")
    func configuredTrust() async throws {
        let url = nginx.url(.showing(.good), "/?cc=public,max-age=600")
        let authority = nginx.site.authority.path
        let trusting = session {
            $0.tls.additionalTrustRoots = []
            $0.configureTransfer = { transfer, _ in try transfer.set("CAINFO", authority) }
        }
        let other = session { $0.tls.additionalTrustRoots = [] }
        defer { for session in [trusting, other] { session.invalidateAndCancel() } }
        #expect(await trusting.load(url).response?.statusCode == 200)
        #expect(cache.cachedResponse(for: URLRequest(url: url)) == nil)
        #expect(await other.load(url).error?.code == .serverCertificateHasUnknownRoot)
    }

    @Test("Once configureTransfer has decided whom to trust, its session takes nothing that is stored for https")
    func configuredDistrust() async throws {
        let url = nginx.url(.showing(.good), "/?cc=public,max-age=600")
        let foreign = nginx.site.foreignAuthority.path
        let trusting = session()
        let other = session {
            $0.configureTransfer = { transfer, request in
                if request.url?.path == "/own" { try transfer.set("CAINFO", foreign) }
            }
        }
        defer { for session in [trusting, other] { session.invalidateAndCancel() } }
        #expect(await trusting.load(url).response?.statusCode == 200)
        #expect(await other.load(url).response?.value(forHTTPHeaderField: "Age") != nil)
        #expect(await other.load(nginx.url(.showing(.good), "/own")).error?.code == .serverCertificateHasUnknownRoot)
        let loaded = await other.load(url).response
        #expect(loaded?.statusCode == 200 && loaded?.value(forHTTPHeaderField: "Age") == nil)
        #expect(await trusting.load(url).response?.value(forHTTPHeaderField: "Age") != nil)
    }

    @Test("A response for which a client certificate was shown isn't stored unless it is public")
    func identity() async throws {
        let known = session { $0.tls.identity = .pem(certificates: .file(nginx.site.clientWithKey)) }
        defer { known.invalidateAndCancel() }
        let unknown = session()
        defer { unknown.invalidateAndCancel() }
        for (control, isKept) in [("max-age=600", false), ("public,max-age=600", true)] {
            let url = nginx.url(.asking, "/?cc=\(control)")
            #expect(await known.load(url).text?.hasSuffix("[CN=a client]") == true)
            #expect(await unknown.load(url).response?.statusCode == (isKept ? 200 : 400))
        }
    }
}
