import CurlNetworking
import Foundation
import TestSupport
import Testing

@Suite("Challenges by servers that want to see a certificate", .timeLimit(.minutes(1)))
struct TLSIdentityChallengeTests {
    private static func delegate(
        _ answer: @escaping @Sendable (TLSTrustChallengeTests.Answer) -> Void
    ) -> TLSTrustChallengeTests.SessionLevel {
        TLSTrustChallengeTests.SessionLevel { challenge, completion in
            let method = challenge.protectionSpace.authenticationMethod
            guard method == NSURLAuthenticationMethodClientCertificate else {
                return completion(
                    .useCredential,
                    challenge.protectionSpace.serverTrust.map { URLCredential(trust: $0) }
                )
            }
            answer(completion)
        }
    }

    private static func methods(_ delegate: TLSTrustChallengeTests.SessionLevel) -> [String] {
        delegate.asked.value.map(\.protectionSpace.authenticationMethod)
    }

    private static func identity(_ nginx: TLSNginx) -> URLCredential {
        URLCredential(identity: .pem(certificates: .file(nginx.site.clientWithKey)))
    }

    @Test(
        "The delegate is asked once for the host, told which authorities count, and its certificate is shown",
        arguments: [TLSNginx.Port.asking, .askingInOldWay]
    )
    func shown(port: TLSNginx.Port) async throws {
        let nginx = try TLSNginx.shared()
        let delegate = Self.delegate { $0(.useCredential, Self.identity(nginx)) }
        let session = URLSession.trusting(nginx, delegate: delegate)
        defer { session.invalidateAndCancel() }
        for _ in 0..<2 {
            #expect(await session.load(nginx.url(port)).text?.hasSuffix("[CN=a client]") == true)
            await session.flush()
        }
        #expect(
            Self.methods(delegate)
                == [NSURLAuthenticationMethodServerTrust, NSURLAuthenticationMethodClientCertificate]
        )
        let space = try #require(delegate.asked.value.last?.protectionSpace)
        #expect(space.serverTrust == nil)
        let names = try #require(space.distinguishedNames)
        #expect(names.count == 1)
        #expect(names.first?.range(of: Data("CurlNetworking test authority".utf8)) != nil)
    }

    @Test(
        "A delegate without a certificate leaves it to the server",
        arguments: [URLSession.AuthChallengeDisposition.performDefaultHandling, .rejectProtectionSpace, .useCredential]
    )
    func none(disposition: URLSession.AuthChallengeDisposition) async throws {
        let nginx = try TLSNginx.shared()
        let delegate = Self.delegate { $0(disposition, nil) }
        let session = URLSession.trusting(nginx, delegate: delegate)
        defer { session.invalidateAndCancel() }
        for _ in 0..<2 {
            #expect(await session.load(nginx.url(.asking)).response?.statusCode == 400)
            await session.flush()
        }
        #expect(Self.methods(delegate).count == 2)
    }

    @Test(
        "A server that asks for a certificate only once it has the request gets none, and the delegate isn't asked",
        arguments: ["-tls1_2", "-tls1_3"]
    )
    func asksLate(version: String) async throws {
        let server = try await TalkingTLSServer([version, "-no_resumption_on_reneg", "-msg"])
        defer { server.stop() }
        let nginx = try TLSNginx.shared()
        let delegate = Self.delegate { $0(.useCredential, Self.identity(nginx)) }
        let session = URLSession.trusting(nginx, delegate: delegate)
        defer { session.invalidateAndCancel() }
        async let result = session.load(server.url)
        try await server.waitForRequest()
        try await server.askForCertificate(inOldWay: version == "-tls1_2")
        server.say("HTTP/1.1 200 OK\nConnection: close\nContent-Length: 6\n\nhello")
        let text = await result.text
        #expect(text == "hello\n")
        #expect(Self.methods(delegate) == [NSURLAuthenticationMethodServerTrust])
    }

    @Test("No request is sent if the delegate cancels")
    func cancel() async throws {
        let nginx = try TLSNginx.shared()
        let path = "/\(UUID().uuidString)"
        let delegate = Self.delegate { $0(.cancelAuthenticationChallenge, nil) }
        let session = URLSession.trusting(nginx, delegate: delegate)
        defer { session.invalidateAndCancel() }
        #expect(await session.load(nginx.url(.asking, path)).error?.code == .cancelled)
        #expect(try await nginx.requests(to: path) == 0)
    }

    @Test("A certificate that the configuration has is shown without a question")
    func configured() async throws {
        let nginx = try TLSNginx.shared()
        let delegate = Self.delegate { $0(.cancelAuthenticationChallenge, nil) }
        let session = URLSession.trusting(nginx, delegate: delegate) { curl in
            curl.tls.identity = .pem(certificates: .file(nginx.site.clientWithKey))
        }
        defer { session.invalidateAndCancel() }
        #expect(await session.load(nginx.url(.asking)).response?.statusCode == 200)
        #expect(Self.methods(delegate) == [NSURLAuthenticationMethodServerTrust])
    }

    @Test("A server that isn't trusted never hears which certificate there would be")
    func untrusted() async throws {
        let nginx = try TLSNginx.shared()
        let delegate = TLSTrustChallengeTests.SessionLevel { $1(.performDefaultHandling, nil) }
        let session = URLSession.trusting(nginx, delegate: delegate)
        defer { session.invalidateAndCancel() }
        #expect(await session.load(nginx.url(.askingUntrusted)).error?.code == .serverCertificateHasUnknownRoot)
        #expect(Self.methods(delegate) == [NSURLAuthenticationMethodServerTrust])
    }

    @Test("A certificate that the server turns down is asked about anew by the next task")
    func rejected() async throws {
        let peer = try await AlertingServer(["-tls1_2"])
        let delegate = Self.delegate { answer in
            let identity = TLSIdentity.pem(
                certificates: .file(peer.site.certificate(.selfsigned)),
                privateKey: .file(peer.site.key(.selfsigned))
            )
            answer(.useCredential, URLCredential(identity: identity))
        }
        let session = peer.session(delegate: delegate)
        defer { session.invalidateAndCancel() }
        for count in 1...2 {
            #expect(await session.load(peer.url).error?.code == .clientCertificateRejected)
            #expect(Self.methods(delegate).count { $0 == NSURLAuthenticationMethodClientCertificate } == count)
        }
    }
}
