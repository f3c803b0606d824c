import CurlNetworking
import Foundation
import LoopbackServer
import TestSupport
import Testing

@Suite("Bodies travel with every method", .timeLimit(.minutes(1)))
struct UploadMethodTests {
    private static let methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "QUERY", "get"]

    @Test("An upload task's data", arguments: methods)
    func data(method: String) async throws {
        let server = try LoopbackServer { _ in .text("fine") }
        defer { server.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let request = URLRequest(server.url("/"), method: method)
        // Twice: nothing of the first may be left on the connection.
        for _ in 0..<2 {
            let (data, response) = try await session.upload(for: request, from: Data("the body".utf8))
            #expect((response as? HTTPURLResponse)?.statusCode == 200)
            #expect(data == (method == "HEAD" ? Data() : Data("fine".utf8)))
        }
        #expect(server.requests.map(\.method) == [request.httpMethod, request.httpMethod])
        #expect(server.requests.map(\.text) == ["the body", "the body"])
        #expect(server.requests[1].headers(named: "Content-Length") == ["8"])
        #expect(server.connectionCount == 1)
    }

    @Test("A request's own data", arguments: methods)
    func ownData(method: String) async throws {
        let server = try LoopbackServer { _ in .text("fine") }
        defer { server.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let result = await session.load(URLRequest(server.url("/"), method: method, body: Data("the body".utf8)))
        #expect(result.error == nil)
        #expect(server.requests[0].text == "the body")
    }

    @Test("A stream", arguments: methods)
    func stream(method: String) async throws {
        let server = try LoopbackServer { _ in .text("fine") }
        defer { server.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        var request = URLRequest(server.url("/"), method: method)
        request.httpBodyStream = InputStream(data: Data("the body".utf8))
        #expect(await session.load(request).error == nil)
        #expect(server.requests[0].text == "the body")
        #expect(server.requests[0].headers(named: "Transfer-Encoding") == ["chunked"])
    }

    @Test("HEAD's answer ends with its head, whatever length it names")
    func head() async throws {
        let body = GeneratedBody.bytes(seed: 2, length: 2_000_000)
        let server = try LoopbackServer { request in
            .raw([.bytes("HTTP/1.1 200 OK\r\nContent-Length: 77\r\nX-Body: \(request.bodyLength)\r\n\r\n")])
        }
        defer { server.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        for _ in 0..<2 {
            let (data, response) = try await session.upload(
                for: URLRequest(server.url("/"), method: "HEAD"),
                from: body
            )
            #expect(data.isEmpty)
            #expect((response as? HTTPURLResponse)?.value(forHTTPHeaderField: "X-Body") == "2000000")
        }
        #expect(server.connectionCount == 1)
    }
}
