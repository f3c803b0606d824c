import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Responses without a body", .timeLimit(.minutes(1)))
struct EmptyBodyTests {
    @Test("They give empty data, not nil", arguments: [("GET", 200), ("GET", 204), ("GET", 304), ("HEAD", 200)])
    func emptyData(method: String, status: Int) async throws {
        let server = try LoopbackServer { _ in
            method == "HEAD" ? .generated(length: 5000) : .status(status).header("ETag", "\"a\"")
        }
        defer { server.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let request = URLRequest(server.url("/"), method: method)
        let result = await session.load(request)
        #expect(result.data == Data())
        #expect(result.error == nil)
        #expect(result.response?.statusCode == status)
        let (data, _) = try await session.data(for: request)
        #expect(data == Data())
        // No byte was left on the connection.
        #expect(server.connectionCount == 1)
    }

    @Test("HEAD tells the length that GET would have")
    func head() async throws {
        let server = try LoopbackServer { _ in .generated(length: 5000) }
        defer { server.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let result = await session.load(URLRequest(server.url("/"), method: "HEAD"))
        #expect(result.response?.expectedContentLength == 5000)
        #expect(server.requests[0].method == "HEAD")
    }

    @Test("A delegate hears of the response and the end, and of no data")
    func delegate() async throws {
        let server = try LoopbackServer { _ in .status(204) }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: server.url("/"))
        task.resume()
        try await delegate.success(of: task)
        #expect(delegate.events(of: task) == [.created, .response(status: 204), .completed(nil)])
    }

    @Test("A body that is there but empty is empty data", arguments: [true, false])
    func emptyBody(isChunked: Bool) async throws {
        let server = try LoopbackServer { _ in isChunked ? .chunked([String]()) : .text("") }
        defer { server.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let result = await session.load(server.url("/"))
        #expect(result.data == Data())
        #expect(result.error == nil)
    }

    @Test("Informational responses are not the response")
    func informational() async throws {
        let server = try LoopbackServer { _ in
            .text("hello").after([
                .bytes("HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n"),
                .bytes("HTTP/1.1 102 Processing\r\n\r\n"),
            ])
        }
        defer { server.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let result = await session.load(server.url("/"))
        #expect(result.response?.statusCode == 200)
        #expect(result.response?.value(forHTTPHeaderField: "Link") == nil)
        #expect(result.text == "hello")
    }
}
