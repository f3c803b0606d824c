import CurlNetworking
import Foundation
import LoopbackServer
import TestSupport
import Testing

@Suite("Bodies travel with every method but GET and HEAD", .timeLimit(.minutes(1)))
struct UploadMethodTests {
    private static let methods = ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "QUERY", "post"]

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
            #expect(data == Data("fine".utf8))
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

    @Test("HEAD sends none and no length, and its answer ends with its head", arguments: ["data", "file", "stream"])
    func head(kind: String) async throws {
        let server = try LoopbackServer { _ in
            .raw([.bytes("HTTP/1.1 200 OK\r\nContent-Length: 77\r\n\r\n")])
        }
        defer { server.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let directory = try TemporaryDirectory()
        let body = GeneratedBody.bytes(seed: 2, length: 2_000_000)
        for _ in 0..<2 {
            var request = URLRequest(server.url("/"), method: "HEAD")
            let data: Data
            switch kind {
            case "data": (data, _) = try await session.upload(for: request, from: body)
            case "file": (data, _) = try await session.upload(for: request, fromFile: try directory.file(body))
            default:
                request.httpBodyStream = InputStream(data: body)
                (data, _) = try await session.data(for: request)
            }
            #expect(data.isEmpty)
        }
        #expect(server.requests.map(\.bodyLength) == [0, 0])
        #expect(server.requests[0].header("Content-Length") == nil)
        #expect(server.requests[0].header("Transfer-Encoding") == nil)
        #expect(server.connectionCount == 1)
    }
}
