import CurlNetworking
import Foundation
import TestSupport
import Testing

@Suite("TLS sessions of earlier connections", .timeLimit(.minutes(1)))
struct TLSResumptionTests {
    /// How nginx has found two connections to begin, one after the other: "r" for a session that was resumed.
    private static func beginnings(
        on port: TLSNginx.Port,
        delegate: (any URLSessionDelegate)? = nil
    ) async throws -> [String?] {
        let nginx = try TLSNginx.shared()
        let session = URLSession.trusting(nginx, delegate: delegate)
        defer { session.invalidateAndCancel() }
        var beginnings: [String?] = []
        for _ in 0..<3 {
            let result = await session.load(URLRequest(nginx.url(port), headers: ["Connection": "close"]))
            beginnings.append(result.response?.value(forHTTPHeaderField: "X-Session"))
        }
        return beginnings
    }

    @Test("A new connection resumes the session of one before", arguments: [TLSNginx.Port.new, .old])
    func resumed(port: TLSNginx.Port) async throws {
        let beginnings = try await Self.beginnings(on: port)
        #expect(beginnings == [".", "r", "r"])
    }

    @Test("No TLS session is resumed where a delegate decides, since resumed ones aren't verified again")
    func asked() async throws {
        let delegate = TLSTrustChallengeTests.SessionLevel { $1(.performDefaultHandling, nil) }
        #expect(try await Self.beginnings(on: .new, delegate: delegate) == [".", ".", "."])
    }
}
