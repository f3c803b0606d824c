import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Uploading data", .timeLimit(.minutes(1)))
struct UploadDataTests {
    @Test("The body arrives with its length, and without Expect", arguments: [1, 1000, 3_000_000])
    func body(length: Int) async throws {
        let server = try LoopbackServer { .text("\($0.bodyLength)") }
        defer { server.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let body = GeneratedBody.bytes(seed: 1, length: length)
        let (data, _) = try await session.upload(for: URLRequest(server.url("/"), method: "PUT"), from: body)
        #expect(data == Data("\(length)".utf8))
        let request = server.requests[0]
        #expect(request.body == body)
        #expect(request.headers(named: "Content-Length") == ["\(length)"])
        #expect(request.header("Transfer-Encoding") == nil)
        #expect(request.header("Expect") == nil)
    }

    @Test("An empty body is sent with length 0", arguments: ["POST", "PUT", "PATCH"])
    func empty(method: String) async throws {
        let server = try LoopbackServer { .echo($0) }
        defer { server.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let request = URLRequest(server.url("/"), method: method)
        _ = try await session.upload(for: request, from: Data())
        let viaHandler = await withCheckedContinuation { continuation in
            session.uploadTask(with: request, from: nil) { continuation.resume(returning: HandlerResult($0, $1, $2)) }
                .resume()
        }
        #expect(viaHandler.error == nil)
        _ = try await session.data(for: request)
        #expect(server.requests.count == 3)
        for request in server.requests {
            #expect(request.method == method)
            #expect(request.headers(named: "Content-Length") == ["0"])
            #expect(request.header("Transfer-Encoding") == nil)
            #expect(request.bodyLength == 0)
        }
    }

    @Test("The request's body travels with any method", arguments: ["POST", "PUT", "PATCH", "DELETE", "REPORT"])
    func methods(method: String) async throws {
        let server = try LoopbackServer { .echo($0) }
        defer { server.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        _ = try await session.data(for: URLRequest(server.url("/"), method: method, body: Data("a=b".utf8)))
        #expect(server.requests[0].method == method)
        #expect(server.requests[0].text == "a=b")
        #expect(server.requests[0].headers(named: "Content-Length") == ["3"])
    }

    @Test("Requests without a body send none and no length", arguments: ["GET", "HEAD", "DELETE", "OPTIONS"])
    func bodyless(method: String) async throws {
        let server = try LoopbackServer { _ in .status(204) }
        defer { server.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        _ = try await session.data(for: URLRequest(server.url("/"), method: method))
        let request = server.requests[0]
        #expect(request.method == method)
        #expect(request.header("Content-Length") == nil)
        #expect(request.header("Content-Type") == nil)
        #expect(request.header("Transfer-Encoding") == nil)
    }

    @Test("A POST's httpBody is a form unless the program says otherwise")
    func contentType() async throws {
        let server = try LoopbackServer { .echo($0) }
        defer { server.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        var request = URLRequest(server.url("/"), method: "POST", body: Data("a=b".utf8))
        _ = try await session.data(for: request)
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        _ = try await session.data(for: request)
        #expect(server.requests[0].headers(named: "Content-Type") == ["application/x-www-form-urlencoded"])
        #expect(server.requests[1].headers(named: "Content-Type") == ["application/json"])
    }

    @Test("A length that the program claims in a header can't contradict the body")
    func claimedLength() async throws {
        let server = try LoopbackServer { .echo($0) }
        defer { server.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let headers = ["Content-Length": "999", "Transfer-Encoding": "chunked"]
        let request = URLRequest(server.url("/"), method: "POST", headers: headers)
        _ = try await session.upload(for: request, from: Data("four".utf8))
        #expect(server.requests[0].text == "four")
        #expect(server.requests[0].headers(named: "Content-Length") == ["4"])
        #expect(server.requests[0].header("Transfer-Encoding") == nil)
    }

    @Test("An upload task's data is sent, not the request's own body")
    func dataWins() async throws {
        let server = try LoopbackServer { .echo($0) }
        defer { server.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let request = URLRequest(server.url("/"), method: "POST", body: Data("request's".utf8))
        _ = try await session.upload(for: request, from: Data("task's".utf8))
        #expect(server.requests[0].text == "task's")
    }

    @Test("The response's body and an early answer arrive while the upload goes on")
    func earlyAnswer() async throws {
        let server = try LoopbackServer(answering: .atHead) { _ in
            .text("too large", status: 413).closing().after([.stopReading])
        }
        defer { server.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let request = URLRequest(server.url("/"), method: "PUT")
        let result = await withCheckedContinuation { continuation in
            session.uploadTask(with: request, from: Data(count: 64 << 20)) {
                continuation.resume(returning: HandlerResult($0, $1, $2))
            }.resume()
        }
        #expect(result.response?.statusCode == 413)
    }

    @Test("An upload on a connection that went stale is sent again, whole")
    func staleConnection() async throws {
        let server = try LoopbackServer { .echo($0) }
        defer { server.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let body = GeneratedBody.bytes(seed: 4, length: 500_000)
        let request = URLRequest(server.url("/"), method: "PUT")
        _ = try await session.upload(for: request, from: body)
        server.dropIdleConnections()
        let (data, _) = try await session.upload(for: request, from: body)
        let echo = try JSONDecoder().decode(LoopbackServer.Echo.self, from: data)
        #expect(echo.body == body)
    }
}
