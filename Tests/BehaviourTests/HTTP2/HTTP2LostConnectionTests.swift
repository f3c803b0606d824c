import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("HTTP/2 servers that hang up on each request", .timeLimit(.minutes(1)))
struct HTTP2LostConnectionTests {
    /// Sooner or later one of these requests finds a connection that libcurl has closed under it, and libcurl then names a
    /// descriptor of -1 to be watched.
    @Test("Tasks of all kinds fail at once, and by no time-out")
    func mixed() async throws {
        let server = try ScriptedHTTP2Server { _ in [.hangUp] }
        defer { server.stop() }
        let session = URLSession.forTest {
            $0.urlCache = nil
            $0.curl.httpVersion = .http2PriorKnowledge
            // Far beyond the test's own limit.
            $0.timeoutIntervalForRequest = 600
        }
        defer { session.invalidateAndCancel() }
        for _ in 0..<20 {
            let codes = await withTaskGroup(of: URLError.Code?.self) { group in
                for index in 0..<24 { group.addTask { await Self.run(index, server.url("/\(index)"), in: session) } }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(codes == Array(repeating: .networkConnectionLost, count: 24))
        }
    }

    private static func run(_ index: Int, _ url: URL, in session: URLSession) async -> URLError.Code? {
        do {
            switch index % 4 {
            case 0: _ = try await session.data(from: url)
            case 1: _ = try await session.upload(for: URLRequest(url, method: "POST"), from: Data(count: 100_000))
            case 2: _ = try await session.download(from: url)
            default: _ = try await session.data(for: URLRequest(url, method: "PUT", body: Data("small".utf8)))
            }
            return nil
        } catch {
            return (error as? URLError)?.code
        }
    }
}
