import CurlURLProtocol
import Foundation
import FoundationNetworking
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

/// The stock module's own transport waits for ever here, and asks for more credentials where it doesn't.
@Suite("A refusal that stays one, in a stock session on our transport", .timeLimit(.minutes(1)))
struct StockRefusalTests {
    private static func serve() throws -> LoopbackServer {
        try LoopbackServer { _ in
            .text("who?", status: 401).header("WWW-Authenticate", "Basic realm=\"here\"")
        }
    }

    @Test("A refused 401 is the response of a handler's task")
    func handler() async throws {
        let server = try Self.serve()
        defer { server.stop() }
        let session = StockSession.make()
        defer { session.finishTasksAndInvalidate() }
        let (data, response) = await withCheckedContinuation { continuation in
            session.dataTask(with: server.url("/")) { data, response, _ in
                continuation.resume(returning: (data, response))
            }.resume()
        }
        #expect(data == Data("who?".utf8))
        try Self.check(response, from: server)
    }

    @Test("A refused 401 is what the async methods return")
    func async() async throws {
        let server = try Self.serve()
        defer { server.stop() }
        let session = StockSession.make()
        defer { session.finishTasksAndInvalidate() }
        let (data, response) = try await session.data(from: server.url("/"))
        #expect(data == Data("who?".utf8))
        try Self.check(response, from: server)
    }

    @Test("The delegate is asked once about a 401, and may leave it at that")
    func delegate() async throws {
        let server = try Self.serve()
        defer { server.stop() }
        let delegate = StockDelegate()
        let session = StockSession.make(delegate: delegate)
        defer { session.finishTasksAndInvalidate() }
        let task = session.dataTask(with: server.url("/"))
        task.resume()
        let state = try await delegate.end()
        #expect(state.events == ["challenge here", "response 401"])
        #expect(state.body == Data("who?".utf8))
        #expect(state.ends == [nil])
        try Self.check(task.response, from: server)
    }

    private static func check(_ response: URLResponse?, from server: LoopbackServer) throws {
        let response = try #require(response as? HTTPURLResponse)
        #expect(response.url == server.url("/"))
        #expect(response.statusCode == 401)
        #expect(response.value(forHTTPHeaderField: "www-authenticate") == "Basic realm=\"here\"")
        #expect(response.mimeType == "text/plain")
        #expect(response.expectedContentLength == 4)
        #expect(server.requestCount == 1)
        #expect(server.hasOurRequestsOnly)
    }
}
