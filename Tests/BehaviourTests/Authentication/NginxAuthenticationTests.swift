import CurlNetworking
import Foundation
import TestSupport
import Testing

@Suite("nginx's challenges", .timeLimit(.minutes(1)))
struct NginxAuthenticationTests {
    @Test("A download gets in with the delegate's credential, and so do later requests without asking")
    func basic() async throws {
        let nginx = try Nginx.shared()
        let delegate = DecidingDelegate(onChallenge: { asked in
            let isFirst = asked.challenge.previousFailureCount == 0
            asked.answer(.useCredential, isFirst ? .wrong() : .right())
        })
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let (file, response) = try await session.download(from: nginx.plain("/private/1m"))
        defer { try? FileManager.default.removeItem(at: file) }
        #expect((response as? HTTPURLResponse)?.statusCode == 200, "\(nginx.complaints)")
        #expect(try Data(contentsOf: file) == NginxSite.mebibyte)
        let (data, _) = try await session.data(from: nginx.plain("/private/small.txt"))
        #expect(data == Data(NginxSite.smallText.utf8))
        #expect(delegate.challenges.value.map(\.space.realm) == ["nginx's vault", "nginx's vault"])
        #expect(delegate.challenges.value.map(\.challenge.previousFailureCount) == [0, 1])
    }

    @Test("Without a delegate, nginx's 401 is delivered")
    func nobody() async throws {
        let nginx = try Nginx.shared()
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let result = await session.load(nginx.plain("/private/small.txt"))
        #expect(result.response?.statusCode == 401)
        #expect(result.text?.contains("401 Authorization Required") == true)
    }

    @Test("nginx's challenges are answered over HTTP/2 and TLS, with redirects on the way", .needsTrust)
    func http2() async throws {
        let nginx = try Nginx.shared()
        let urls = ["/private/small.txt", "/moved/small.txt", "/moved/small.txt?stay"].map {
            nginx.tls($0).absoluteString
        }
        let helper = try NginxTrust(nginx.site).startHelper("authenticate", "user", "secret", urls[0], urls[1], urls[2])
        var lines: [String] = []
        while let line = await helper.line() { lines.append(line) }
        #expect(
            lines.prefix(3) == [
                "asked server 127.0.0.1 \(nginx.tlsPort) - ServerTrust 0",
                "asked server 127.0.0.1 \(nginx.tlsPort) nginx's vault HTTPBasic 0", "200 Hello from nginx",
            ]
        )
        // Behind each text is its own line's end.
        #expect(lines.contains("follows 302 to /small.txt"))
        #expect(lines.filter { $0 == "200 Hello from nginx" }.count == 2)
        #expect(lines.contains("refuses 302 to /small.txt"))
        #expect(lines.contains { $0.hasPrefix("302 <html>") })
    }
}
