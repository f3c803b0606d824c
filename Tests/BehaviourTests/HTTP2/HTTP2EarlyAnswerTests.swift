import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import CurlTransport
import TestSupport
import Testing

@Suite("Answers over HTTP/2 that come before the body is sent", .timeLimit(.minutes(1)))
struct HTTP2EarlyAnswerTests {
    private typealias Server = ScriptedHTTP2Server

    private static let content = GeneratedBody.bytes(seed: 33, length: 300_000)
    // RFC 9113 §7
    private static let noError: UInt32 = 0
    private static let streamClosed: UInt32 = 5
    // As HAProxy resets it.
    private static let cancel: UInt32 = 8

    private static func request(_ url: URL, streams: Bool, expects: Bool = false) -> URLRequest {
        var request = URLRequest(url, method: "PUT", body: streams ? nil : content)
        if streams { request.httpBodyStream = InputStream(data: content) }
        if expects { request.setValue("100-continue", forHTTPHeaderField: "Expect") }
        return request
    }

    /// A complete refusal that states its length.
    private static func refusal(_ body: Data, coding: String? = nil) -> [Server.Step] {
        let length = ("content-length", "\(body.count)")
        let block = Server.fields(status: 501, [length] + (coding.map { [("content-encoding", $0)] } ?? []))
        return body.isEmpty ? [.headers(block, ends: true)] : [.headers(block, ends: false), .data(body, ends: true)]
    }

    /// The frames of a complete answer and of a reset, which libcurl reads together: it then loses the answer.
    private static func lost(_ request: Server.Request, code: UInt32 = noError) -> Server.Step {
        let block = Server.fields(status: 413, [("content-length", "2")])
        return .frames([
            Server.frame(.headers, flags: Server.endHeaders, stream: request.stream, block),
            Server.frame(.data, flags: Server.endStream, stream: request.stream, Data("no".utf8)),
            Server.frame(.resetStream, stream: request.stream, code.bigEndianBytes),
        ])
    }

    // As Apache Traffic Server does, which neither resets the stream nor opens its window again.
    @Test(
        "A complete refusal ends an upload for which the server opens no window",
        arguments: [false, true],
        ["text", "nothing", "gzip"]
    )
    func refused(streams: Bool, answer: String) async throws {
        let gate = Gate()
        let server = try Server(window: 0) { request in
            guard request.number == 2 else { return Server.text("hello") }
            let body = answer == "nothing" ? Data() : Data("refused".utf8)
            let refusal = answer == "gzip" ? Self.refusal(storedGzip(body), coding: "gzip") : Self.refusal(body)
            return [.grant(1000), .waitFor(gate)] + refusal
        }
        defer { server.stop() }
        let session = try NginxHTTP2.shared().session()
        defer { session.invalidateAndCancel() }
        #expect(await session.load(server.url()).text == "hello")
        async let upload = session.load(Self.request(server.url(), streams: streams))
        try await server.state.wait { $0.bodies[2]?.count == 1000 }
        gate.open()
        let result = await upload
        #expect(result.response?.statusCode == 501, "\(result.error?.userInfo as Any)")
        #expect(result.text == (answer == "nothing" ? "" : "refused"))
        #expect(await session.load(server.url()).text == "hello")
        #expect(server.state.value.bodies[2] == Self.content.prefix(1000))
        #expect(server.state.value.connections == 1)
    }

    @Test(
        "An upload that would wait for 100 Continue ends with a complete refusal, and keeps its connection",
        arguments: [false, true]
    )
    func refusedExpectation(streams: Bool) async throws {
        let server = try Server(window: 0) { request in
            request.number == 2 ? Self.refusal(Data("refused".utf8)) : Server.text("hello")
        }
        defer { server.stop() }
        let session = try NginxHTTP2.shared().session()
        defer { session.invalidateAndCancel() }
        #expect(await session.load(server.url()).text == "hello")
        let result = await session.load(Self.request(server.url(), streams: streams, expects: true))
        #expect(result.response?.statusCode == 501, "\(result.error?.userInfo as Any)")
        #expect(result.text == "refused")
        #expect(await session.load(server.url()).text == "hello")
        #expect(server.state.value.bodies[2] == nil)
        #expect(server.state.value.connections == 1)
    }

    @Test("A refused upload that is suspended meanwhile ends when it is resumed")
    func suspended() async throws {
        let (gate, answered) = (Gate(), Gate())
        let server = try Server(window: 0) { request in
            guard request.number == 2 else { return Server.text("hello") }
            return [.waitFor(gate)] + Self.refusal(Data("refused".utf8)) + [.open(answered)]
        }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = try NginxHTTP2.shared().session(delegate: delegate)
        defer { session.invalidateAndCancel() }
        #expect(await session.load(server.url()).text == "hello")
        let task = session.uploadTask(with: URLRequest(server.url(), method: "PUT"), from: Self.content)
        task.resume()
        try await server.state.wait { $0.requests.count == 2 }
        task.suspend()
        gate.open()
        try await answered.wait()
        // What follows on the connection has arrived, so the refusal has, too.
        #expect(await session.load(server.url()).text == "hello")
        task.resume()
        try await delegate.success(of: task)
        #expect((task.response as? HTTPURLResponse)?.statusCode == 501)
        #expect(delegate.body(of: task) == Data("refused".utf8))
        #expect(server.state.value.connections == 1)
    }

    // libcurl notices the closed stream when it sends more of the body; with a window for just the body, when it reads. A smaller window than
    // the first 65,535 bytes could come too late.
    @Test(
        "An upload whose answer libcurl lost is a lost connection if there is no other stream to send",
        .enabled(if: CurlQuirks.current.forgetsHTTP2Input, "this libcurl loses no answer"),
        arguments: [100_000, UInt32(content.count)],
        [noError, streamClosed, cancel]
    )
    func lostWithoutStream(window: UInt32, code: UInt32) async throws {
        let gate = Gate()
        let server = try Server(window: 0) { request in
            [.grant(window), .waitFor(gate), Self.lost(request, code: code)]
        }
        defer { server.stop() }
        let session = try NginxHTTP2.shared().session()
        defer { session.invalidateAndCancel() }
        async let upload = session.load(Self.request(server.url(), streams: true))
        try await server.state.wait { $0.bodies[1]?.count == Int(window) }
        gate.open()
        let error = await upload.error
        #expect(error?.code == .networkConnectionLost)
        #expect(error?.localizedDescription.contains("libcurl lost the answer") == true, "\(error?.userInfo as Any)")
        #expect(server.state.value.requests.count == 1)
    }

    @Test(
        "An upload whose answer libcurl lost is sent again with the delegate's next stream",
        .enabled(if: CurlQuirks.current.forgetsHTTP2Input, "this libcurl loses no answer"),
        arguments: [100_000, UInt32(content.count)],
        [noError, cancel]
    )
    func lostWithStream(window: UInt32, code: UInt32) async throws {
        let gate = Gate()
        let server = try Server(window: 0) { request in
            if request.number == 1 { return [.grant(window), .waitFor(gate), Self.lost(request, code: code)] }
            // libcurl needs a window to say that a stream is over.
            return [.grant(UInt32(Self.content.count + 1)), .waitForBody] + Server.text("thanks")
        }
        defer { server.stop() }
        let delegate = TimelineDelegate(bodyStream: { InputStream(data: Self.content) })
        let session = try NginxHTTP2.shared().session(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let task = session.uploadTask(withStreamedRequest: URLRequest(server.url(), method: "PUT"))
        task.resume()
        try await server.state.wait { $0.bodies[1]?.count == Int(window) }
        gate.open()
        try await delegate.success(of: task)
        #expect(server.state.value.bodies[2] == Self.content)
    }
}
