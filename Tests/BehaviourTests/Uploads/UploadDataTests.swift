import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Uploading data", .timeLimit(.minutes(1)))
struct UploadDataTests {
    @Test("The body arrives with its length, and without Expect", arguments: [1, 1000, 3_000_000])
    func body(length: Int) async throws {
        let rig = try Rig { .text("\($0.bodyLength)") }
        defer { rig.stop() }
        let body = GeneratedBody.bytes(seed: 1, length: length)
        let (data, _) = try await rig.session.upload(for: URLRequest(rig.url("/"), method: "PUT"), from: body)
        #expect(data == Data("\(length)".utf8))
        let request = rig.server.requests[0]
        #expect(request.body == body)
        #expect(request.headers(named: "Content-Length") == ["\(length)"])
        #expect(request.header("Transfer-Encoding") == nil)
        #expect(request.header("Expect") == nil)
    }

    @Test(
        "An upload task's data or file takes the place of the request's own data or stream",
        arguments: [true, false]
    )
    func precedence(isStream: Bool) async throws {
        let rig = try Rig { .text($0.headers(named: "Content-Length").joined()) }
        defer { rig.stop() }
        let folder = try TemporaryDirectory()
        let file = folder.url.appendingPathComponent("body")
        try Data("the file".utf8).write(to: file)
        for _ in 0..<2 {
            var request = URLRequest(rig.url("/"), method: "PUT")
            if isStream {
                request.httpBodyStream = InputStream(data: Data("the request's own".utf8))
            } else {
                request.httpBody = Data("the request's own".utf8)
            }
            _ = try await rig.session.upload(for: request, from: Data("the data".utf8))
            _ = try await rig.session.upload(for: request, fromFile: file)
        }
        #expect(
            rig.server.requests.map { String(decoding: $0.body, as: UTF8.self) } == [
                "the data", "the file", "the data", "the file",
            ]
        )
        #expect(rig.server.requests.allSatisfy { $0.header("Content-Length") == "8" })
    }

    @Test("An empty body is sent with length 0", arguments: ["POST", "PUT", "PATCH"])
    func empty(method: String) async throws {
        let rig = try Rig { .echo($0) }
        defer { rig.stop() }
        let request = URLRequest(rig.url("/"), method: method)
        _ = try await rig.session.upload(for: request, from: Data())
        let viaHandler = await withCheckedContinuation { continuation in
            rig.session.uploadTask(with: request, from: nil) {
                continuation.resume(returning: HandlerResult($0, $1, $2))
            }
            .resume()
        }
        #expect(viaHandler.error == nil)
        _ = try await rig.session.data(for: request)
        #expect(rig.server.requests.count == 3)
        for request in rig.server.requests {
            #expect(request.method == method)
            #expect(request.headers(named: "Content-Length") == ["0"])
            #expect(request.header("Transfer-Encoding") == nil)
            #expect(request.bodyLength == 0)
        }
    }

    @Test("The request's body travels with any method", arguments: ["POST", "PUT", "PATCH", "DELETE", "REPORT"])
    func methods(method: String) async throws {
        let rig = try Rig { .echo($0) }
        defer { rig.stop() }
        _ = try await rig.session.data(for: URLRequest(rig.url("/"), method: method, body: Data("a=b".utf8)))
        #expect(rig.server.requests[0].method == method)
        #expect(rig.server.requests[0].text == "a=b")
        #expect(rig.server.requests[0].headers(named: "Content-Length") == ["3"])
    }

    @Test("Requests without a body send none and no length", arguments: ["GET", "HEAD", "DELETE", "OPTIONS"])
    func bodyless(method: String) async throws {
        let rig = try Rig { _ in .status(204) }
        defer { rig.stop() }
        _ = try await rig.session.data(for: URLRequest(rig.url("/"), method: method))
        let request = rig.server.requests[0]
        #expect(request.method == method)
        #expect(request.header("Content-Length") == nil)
        #expect(request.header("Content-Type") == nil)
        #expect(request.header("Transfer-Encoding") == nil)
    }

    @Test("A GET or HEAD whose httpBody is empty sends none and no length", arguments: ["GET", "HEAD"])
    func emptyWithoutLength(method: String) async throws {
        let rig = try Rig { _ in .status(204) }
        defer { rig.stop() }
        _ = try await rig.session.data(for: URLRequest(rig.url("/"), method: method, body: Data()))
        let request = rig.server.requests[0]
        #expect(request.method == method)
        #expect(request.header("Content-Length") == nil)
        #expect(request.header("Transfer-Encoding") == nil)
    }

    @Test("A POST's httpBody is a form unless the program says otherwise")
    func contentType() async throws {
        let rig = try Rig { .echo($0) }
        defer { rig.stop() }
        var request = URLRequest(rig.url("/"), method: "POST", body: Data("a=b".utf8))
        _ = try await rig.session.data(for: request)
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        _ = try await rig.session.data(for: request)
        #expect(rig.server.requests[0].headers(named: "Content-Type") == ["application/x-www-form-urlencoded"])
        #expect(rig.server.requests[1].headers(named: "Content-Type") == ["application/json"])
    }

    @Test("A length that the program claims in a header can't contradict the body")
    func claimedLength() async throws {
        let rig = try Rig { .echo($0) }
        defer { rig.stop() }
        let headers = ["Content-Length": "999", "Transfer-Encoding": "chunked"]
        let request = URLRequest(rig.url("/"), method: "POST", headers: headers)
        _ = try await rig.session.upload(for: request, from: Data("four".utf8))
        #expect(rig.server.requests[0].text == "four")
        #expect(rig.server.requests[0].headers(named: "Content-Length") == ["4"])
        #expect(rig.server.requests[0].header("Transfer-Encoding") == nil)
    }

    @Test("An upload task's data is sent, not the request's own body")
    func dataWins() async throws {
        let rig = try Rig { .echo($0) }
        defer { rig.stop() }
        let request = URLRequest(rig.url("/"), method: "POST", body: Data("request's".utf8))
        _ = try await rig.session.upload(for: request, from: Data("task's".utf8))
        #expect(rig.server.requests[0].text == "task's")
    }

    @Test("The response's body and an early answer arrive while the upload goes on")
    func earlyAnswer() async throws {
        let rig = try Rig(answering: .atHead) { _ in
            .text("too large", status: 413).closing().after([.stopReading])
        }
        defer { rig.stop() }
        let request = URLRequest(rig.url("/"), method: "PUT")
        let result = await withCheckedContinuation { continuation in
            rig.session.uploadTask(with: request, from: Data(count: 64 << 20)) {
                continuation.resume(returning: HandlerResult($0, $1, $2))
            }.resume()
        }
        #expect(result.response?.statusCode == 413)
    }

    @Test("An upload on a connection that went stale is sent again, whole")
    func staleConnection() async throws {
        let rig = try Rig { .echo($0) }
        defer { rig.stop() }
        let body = GeneratedBody.bytes(seed: 4, length: 500_000)
        let request = URLRequest(rig.url("/"), method: "PUT")
        _ = try await rig.session.upload(for: request, from: body)
        rig.server.dropIdleConnections()
        let (data, _) = try await rig.session.upload(for: request, from: body)
        let echo = try JSONDecoder().decode(LoopbackServer.Echo.self, from: data)
        #expect(echo.body == body)
    }
}
