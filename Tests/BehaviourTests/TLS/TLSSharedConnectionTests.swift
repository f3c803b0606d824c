import CurlNetworking
import Foundation
import TestSupport
import Testing

@Suite("Connections that a delegate has let in", .timeLimit(.minutes(1)))
struct TLSSharedConnectionTests {
    private func load(_ count: Int, _ url: URL, in session: URLSession) async -> [HandlerResult] {
        await withTaskGroup(of: HandlerResult.self) { group in
            for _ in 0..<count { group.addTask { await session.load(url) } }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }

    @Test("Many requests over HTTP/2 share a connection that the delegate has let in, with one question")
    func multiplexed() async throws {
        let nginx = try Nginx.shared()
        let delegate = TLSTrustChallengeTests.accepting()
        let session = URLSession.forTest(delegate: delegate) { $0.urlCache = nil }
        defer { session.invalidateAndCancel() }
        let results = await load(64, nginx.tls(NginxSite.smallPath), in: session)
        #expect(results.count { $0.text == NginxSite.smallText } == 64)
        #expect(results.allSatisfy { $0.response?.value(forHTTPHeaderField: "X-Protocol") == "HTTP/2.0" })
        let connections = Set(results.compactMap { $0.response?.value(forHTTPHeaderField: "X-Connection") })
        #expect(connections.count == 1)
        #expect(delegate.trusts.count == 1)
    }

    @Test("A connection that the delegate has let in serves later requests without another question")
    func kept() async throws {
        let nginx = try Nginx.shared()
        let own = DecidingDelegate(onChallenge: { asked in
            asked.answer(.useCredential, asked.space.serverTrust.map { URLCredential(trust: $0) })
        })
        let session = URLSession.forTest(delegate: own) { $0.urlCache = nil }
        defer { session.invalidateAndCancel() }
        var connections: Set<String> = []
        for _ in 0..<5 {
            let result = await session.load(nginx.tls(NginxSite.smallPath))
            #expect(result.text == NginxSite.smallText)
            connections.insert(result.response?.value(forHTTPHeaderField: "X-Connection") ?? "none")
        }
        #expect(connections.count == 1)
        #expect(own.challenges.value.count == 1)
    }
}
