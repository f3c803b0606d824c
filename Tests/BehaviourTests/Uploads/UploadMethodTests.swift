import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Bodies travel with every method", .timeLimit(.minutes(1)))
struct UploadMethodTests {
    private static let methods = [
        "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "QUERY", "get", "post",
    ]

    @Test("An upload task's data is sent with every method", arguments: methods)
    func data(method: String) async throws {
        let rig = try Rig { _ in .text("fine") }
        defer { rig.stop() }
        let request = URLRequest(rig.url("/"), method: method)
        // Twice: nothing of the first may be left on the connection.
        for _ in 0..<2 {
            let (data, response) = try await rig.session.upload(for: request, from: Data("the body".utf8))
            #expect((response as? HTTPURLResponse)?.statusCode == 200)
            #expect(data == Data((request.httpMethod == "HEAD" ? "" : "fine").utf8))
        }
        #expect(rig.server.requests.map(\.method) == [request.httpMethod, request.httpMethod])
        #expect(rig.server.requests.map(\.text) == ["the body", "the body"])
        #expect(rig.server.requests[1].headers(named: "Content-Length") == ["8"])
        // libcurl can't tell that a HEAD's connection is still good.
        #expect(rig.server.connectionCount == (request.httpMethod == "HEAD" ? 2 : 1))
    }

    @Test("A request's own data is sent with every method", arguments: methods)
    func ownData(method: String) async throws {
        let rig = try Rig { _ in .text("fine") }
        defer { rig.stop() }
        let result = await rig.session.load(URLRequest(rig.url("/"), method: method, body: Data("the body".utf8)))
        #expect(result.error == nil)
        #expect(rig.server.requests[0].text == "the body")
    }

    @Test("A stream is sent with every method, in chunks", arguments: methods)
    func stream(method: String) async throws {
        let rig = try Rig { _ in .text("fine") }
        defer { rig.stop() }
        var request = URLRequest(rig.url("/"), method: method)
        request.httpBodyStream = InputStream(data: Data("the body".utf8))
        #expect(await rig.session.load(request).error == nil)
        #expect(rig.server.requests[0].text == "the body")
        #expect(rig.server.requests[0].headers(named: "Transfer-Encoding") == ["chunked"])
    }

    @Test("Only a POST's body gets a content type by default", arguments: ["GET", "HEAD", "PUT"])
    func contentType(method: String) async throws {
        let rig = try Rig { _ in .text("fine") }
        defer { rig.stop() }
        var request = URLRequest(rig.url("/"), method: method, body: Data("{}".utf8))
        #expect(await rig.session.load(request).error == nil)
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        #expect(await rig.session.load(request).error == nil)
        #expect(rig.server.requests.map { $0.headers(named: "Content-Type") } == [[], ["application/json"]])
    }

    @Test("HEAD's answer ends with its head, whatever length it names", arguments: ["data", "file", "stream"])
    func head(kind: String) async throws {
        let rig = try Rig { request in
            .raw([.bytes("HTTP/1.1 200 OK\r\nContent-Length: 77\r\nX-Body: \(request.bodyLength)\r\n\r\n")])
        }
        defer { rig.stop() }
        let directory = try TemporaryDirectory()
        let body = GeneratedBody.bytes(seed: 2, length: 2_000_000)
        for _ in 0..<2 {
            var request = URLRequest(rig.url("/"), method: "HEAD")
            let data: Data
            let response: URLResponse
            switch kind {
            case "data": (data, response) = try await rig.session.upload(for: request, from: body)
            case "file":
                (data, response) = try await rig.session.upload(for: request, fromFile: try directory.file(body))
            default:
                request.httpBodyStream = InputStream(data: body)
                (data, response) = try await rig.session.data(for: request)
            }
            #expect(data.isEmpty)
            #expect((response as? HTTPURLResponse)?.value(forHTTPHeaderField: "X-Body") == "2000000")
        }
        try await rig.server.waitUntilNoConnections()
    }

    @Test("HEAD's answer may come before its body has been sent", arguments: [200, 413])
    func headAnsweredEarly(status: Int) async throws {
        let rig = try Rig(answering: .atHead) { _ in
            .raw([.bytes("HTTP/1.1 \(status) Early\r\nContent-Length: 77\r\n\r\n")])
        }
        defer { rig.stop() }
        let body = GeneratedBody.bytes(seed: 3, length: 3_000_000)
        let request = URLRequest(rig.url("/"), method: "HEAD")
        let (data, response) = try await rig.session.upload(for: request, from: body)
        #expect(data.isEmpty)
        #expect((response as? HTTPURLResponse)?.statusCode == status)
    }

    @Test("A HEAD with a body follows redirects and answers challenges with it")
    func headInSeveralHops() async throws {
        let delegate = DecidingDelegate(onChallenge: {
            $0.answer(.useCredential, URLCredential(user: "a", password: "b", persistence: .none))
        })
        let rig = try Rig(delegate: delegate) { request in
            if request.path == "/from" { return .redirect(to: "/to", status: 307) }
            guard request.header("Authorization") != nil else {
                return .text("who?", status: 401).header("WWW-Authenticate", "Basic realm=x")
            }
            return .text("welcome").header("X-Body", request.text)
        }
        defer { rig.stop() }
        let request = URLRequest(rig.url("/from"), method: "HEAD")
        let (data, response) = try await rig.session.upload(for: request, from: Data("it".utf8))
        #expect(data.isEmpty)
        #expect((response as? HTTPURLResponse)?.value(forHTTPHeaderField: "X-Body") == "it")
        #expect(rig.server.requests.map(\.text) == ["it", "it", "it"])
    }

    @Test("A 303 leaves a GET's body behind, and a 302 or 307 takes it along", arguments: [302, 303, 307])
    func redirect(status: Int) async throws {
        let rig = try Rig { request in
            request.path == "/from" ? .redirect(to: "/to", status: status) : .text("got \(request.text)")
        }
        defer { rig.stop() }
        let request = URLRequest(rig.url("/from"), headers: ["Content-Type": "text/plain"])
        let (data, _) = try await rig.session.upload(for: request, from: Data("it".utf8))
        #expect(String(decoding: data, as: UTF8.self) == (status == 303 ? "got " : "got it"))
        #expect(rig.server.requests[1].headers(named: "Content-Type") == (status == 303 ? [] : ["text/plain"]))
    }

    @Test("The cache has no part in a GET with a body")
    func cache() async throws {
        let rig = try Rig { request in
            .text("\(request.ordinal): \(request.text)").header("Cache-Control", "max-age=1000")
        }
        defer { rig.stop() }
        #expect(await rig.session.load(URLRequest(rig.url("/"))).text == "1: ")
        #expect(await rig.session.load(URLRequest(rig.url("/"), body: Data("a".utf8))).text == "2: a")
        #expect(await rig.session.load(URLRequest(rig.url("/"), body: Data("b".utf8))).text == "3: b")
    }

    @Test("A GET whose httpBody is empty uses the cache like one without a body")
    func cacheOfEmpty() async throws {
        let rig = try Rig { .text("\($0.ordinal)").header("Cache-Control", "max-age=1000") }
        defer { rig.stop() }
        for body in [Data(), nil, Data()] {
            var request = URLRequest(rig.url("/"))
            request.httpBody = body
            #expect(await rig.session.load(request).text == "1")
        }
    }
}
