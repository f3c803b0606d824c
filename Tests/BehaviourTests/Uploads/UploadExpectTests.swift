import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Uploads that wait for 100 Continue", .timeLimit(.minutes(1)))
struct UploadExpectTests {
    private func request(_ url: URL) -> URLRequest {
        URLRequest(url, method: "POST", headers: ["Expect": "100-continue"], body: Data("the body".utf8))
    }

    @Test("The body is sent after the 100")
    func continued() async throws {
        let rig = try Rig { .text("\($0.bodyLength)") }
        defer { rig.stop() }
        #expect(await rig.session.load(request(rig.url("/"))).text == "8")
        #expect(rig.server.requests.map { $0.header("Expect") } == ["100-continue"])
    }

    @Test(
        "The body is sent to a server that never asks for it, even if something else arrives meanwhile",
        arguments: ["", "HTTP/1.1 102 Processing\r\n\r\n"],
        [0, 11]
    )
    func silence(interim: String, begun: Int) async throws {
        let rig = try Rig(answering: .atHead) { _ in
            let answer = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nanswer"
            return .raw([
                .pause(.milliseconds(200)), .bytes(interim + answer.prefix(begun)), .waitForBody,
                .bytes(String(answer.dropFirst(begun))),
            ])
        }
        defer { rig.stop() }
        var request = request(rig.url("/"))
        request.timeoutInterval = .infinity
        #expect(await rig.session.load(request).text == "answer")
        #expect(rig.server.requests.map(\.bodyLength) == [8])
    }

    @Test("A body that the server has asked for is sent, even after its answer", arguments: [false, true])
    func answeredFirst(isAtOnce: Bool) async throws {
        let directory = try TemporaryDirectory()
        let source = try BlockingStream(in: directory)
        let delegate = StreamSource { _ in source.stream }
        let rig = try Rig(answering: .atHead, delegate: delegate) { _ in
            let interim = "HTTP/1.1 100 Continue\r\n\r\n"
            let answer = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nanswer"
            return .raw(
                isAtOnce
                    ? [.bytes(interim + answer), .waitForBody]
                    : [.bytes(interim), .waitFor(delegate.informed), .bytes(answer), .waitForBody]
            )
        }
        defer { rig.stop() }
        var request = request(rig.url("/"))
        request.httpBody = nil
        let task = rig.session.uploadTask(withStreamedRequest: request)
        task.resume()
        try await delegate.record.wait { $0.body == Data("answer".utf8) }
        try source.write(Data("the body".utf8))
        // What is in a pipe that nobody has opened is lost when its writer closes it.
        try await eventually { task.countOfBytesSent == 8 }
        try source.finish()
        #expect(try await delegate.completion() == nil)
    }

    // libcurl waits a second for the 100.
    @Test("A 417 that comes only when a stream's body has begun is the response, though the stream can't begin again")
    func lateRefusal() async throws {
        let directory = try TemporaryDirectory()
        let source = try BlockingStream(in: directory)
        let rig = try Rig(answering: .atHead) { _ in
            .raw([.receive(upTo: 8) { _ in [.bytes("HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n")] }])
        }
        defer { rig.stop() }
        var request = request(rig.url("/"))
        request.httpBody = nil
        request.httpBodyStream = source.stream
        try source.write(Data("the body".utf8))
        let result = await rig.session.load(request)
        #expect(result.error == nil)
        #expect(result.response?.statusCode == 417)
        #expect(rig.server.requestCount == 1)
        try source.finish()
    }

    @Test("A stream of which nothing was sent is sent to where a redirect leads")
    func redirectedStream() async throws {
        let rig = try Rig(answering: .atHead) { request in
            guard request.path == "/next" else { return .redirect(to: "/next", status: 307) }
            return .raw([
                .receive(upTo: .max) { request in
                    [.bytes("HTTP/1.1 200 OK\r\nContent-Length: \(request.body.count)\r\n\r\n"), .bytes(request.body)]
                }
            ])
        }
        defer { rig.stop() }
        var request = request(rig.url("/"))
        request.httpBody = nil
        request.httpBodyStream = InputStream(data: Data("the stream".utf8))
        let result = await rig.session.load(request)
        #expect(result.text == "the stream")
        #expect(rig.server.requests.map(\.path) == ["/", "/next"])
    }

    @Test(
        "Any answer but 100 is the response: no body is sent, and the next request isn't taken for it",
        arguments: [200, 204, 302, 401, 417, 500]
    )
    func answered(status: Int) async throws {
        let rig = try Rig(answering: .atHead) { request in
            request.path == "/" ? .status(status).header("X-Is", "first") : .text("second")
        } configure: {
            $0.useOneConnection()
        }
        defer { rig.stop() }
        for _ in 0..<3 {
            let first = await rig.session.load(request(rig.url("/")))
            #expect(first.error == nil)
            #expect(first.response?.statusCode == status)
            #expect(first.response?.value(forHTTPHeaderField: "X-Is") == "first")
            #expect(first.text == "")
            #expect(await rig.session.load(rig.url("/second")).text == "second")
        }
        #expect(rig.server.requests.map(\.path) == ["/", "/second", "/", "/second", "/", "/second"])
        #expect(rig.server.requests.map(\.bodyLength) == [0, 0, 0, 0, 0, 0])
    }

    @Test(
        "An answer before the body is begun closes the connection, and only a 417 comes without its own body",
        arguments: [200, 413, 417]
    )
    func closed(status: Int) async throws {
        let rig = try Rig(answering: .atHead) { _ in .text("the answer", status: status) }
        defer { rig.stop() }
        for _ in 0..<2 {
            let result = await rig.session.load(request(rig.url("/")))
            #expect(result.response?.statusCode == status)
            #expect(result.text == (status == 417 ? "" : "the answer"))
        }
        #expect(rig.server.requests.map(\.bodyLength) == [0, 0])
        // After a 417, newer libcurl may have opened another one, in vain.
        #expect(Set(rig.server.requests.map(\.connection)).count == 2)
    }
}
