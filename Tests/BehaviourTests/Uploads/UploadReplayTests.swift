import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Bodies that are sent again", .timeLimit(.minutes(1)))
struct UploadReplayTests {
    private static let content = GeneratedBody.bytes(seed: 21, length: 1_000_000)

    @Test(
        "Data, files and the delegate's next stream are sent again after 307 and 308",
        arguments: [307, 308],
        ["data", "file", "stream"]
    )
    func redirect(status: Int, kind: String) async throws {
        let source = StreamSource { _ in InputStream(data: Self.content) }
        let rig = try Rig(delegate: source) { request in
            request.path == "/from" ? .redirect(to: "/to", status: status) : .text("\(request.bodyLength)")
        }
        defer { rig.stop() }
        let directory = try TemporaryDirectory()
        let request = URLRequest(rig.url("/from"), method: "POST")
        let task: URLSessionUploadTask
        switch kind {
        case "data": task = rig.session.uploadTask(with: request, from: Self.content)
        case "file": task = rig.session.uploadTask(with: request, fromFile: try directory.file(Self.content))
        default: task = rig.session.uploadTask(withStreamedRequest: request)
        }
        task.resume()
        #expect(try await source.completion() == nil)
        #expect(source.record.value.body == Data("1000000".utf8))
        #expect(rig.server.requests.map(\.path) == ["/from", "/to"])
        #expect(rig.server.requests[1].body == Self.content)
        #expect(source.record.value.asked == (kind == "stream" ? 2 : 0))
        #expect(!source.record.value.wasOffTheQueue)
        #expect(task.countOfBytesSent == 1_000_000)
    }

    @Test("A request's own stream serves once; the next is the delegate's")
    func ownStream() async throws {
        let source = StreamSource { _ in InputStream(data: Self.content) }
        let rig = try Rig(delegate: source) { request in
            request.path == "/from" ? .redirect(to: "/to", status: 307) : .text("\(request.bodyLength)")
        }
        defer { rig.stop() }
        var request = URLRequest(rig.url("/from"), method: "POST")
        request.httpBodyStream = InputStream(data: Self.content)
        rig.session.dataTask(with: request).resume()
        #expect(try await source.completion() == nil)
        #expect(source.record.value.asked == 1)
        #expect(rig.server.requests[1].body == Self.content)
    }

    @Test(
        "A delegate that gives the same stream again, or a spent one, fails the task clearly",
        arguments: [true, false]
    )
    func sameStream(isSame: Bool) async throws {
        nonisolated(unsafe) let first = InputStream(data: Data("body".utf8))
        let source = StreamSource { number in
            if number == 1 || isSame { return first }
            let spent = InputStream(data: Data())
            spent.open()
            spent.close()
            return spent
        }
        let rig = try Rig(delegate: source) { request in
            request.path == "/from" ? .redirect(to: "/to", status: 307) : .text("\(request.bodyLength)")
        }
        defer { rig.stop() }
        rig.session.uploadTask(withStreamedRequest: URLRequest(rig.url("/from"), method: "POST")).resume()
        #expect(try await source.completion()?.code == .requestBodyStreamExhausted)
        #expect(source.record.value.asked == 2)
        #expect(rig.server.requests.map(\.path) == ["/from"])
    }

    @Test("A delegate that has no other stream fails the task clearly")
    func exhausted() async throws {
        let source = StreamSource { $0 == 1 ? InputStream(data: Self.content) : nil }
        let rig = try Rig(delegate: source) { _ in .redirect(to: "/to", status: 307) }
        defer { rig.stop() }
        rig.session.uploadTask(withStreamedRequest: URLRequest(rig.url("/from"), method: "POST")).resume()
        let error = try await source.completion()
        #expect(error?.code == .requestBodyStreamExhausted)
        #expect(error?.localizedDescription.contains("stream") == true)
    }

    /// When a connection dies under a body.
    enum Moment: CaseIterable {
        /// The body may have begun to come, or not.
        case atHead
        case behindBody
    }

    /// Answers a first request, and resets the connection at the second.
    private func fickleServer(_ moment: Moment) throws -> LoopbackServer {
        try LoopbackServer(answering: .atHead) { request in
            switch request.ordinal {
            case 1: .text("first").after([.waitForBody])
            case 2: .raw(moment == .atHead ? [.reset] : [.waitForBody, .reset])
            default: .text("\(request.bodyLength)").after([.waitForBody])
            }
        }
    }

    @Test(
        "A kept connection that dies under the body is replaced, and the body starts over",
        arguments: ["data", "file", "stream"],
        Moment.allCases
    )
    func deadConnection(kind: String, moment: Moment) async throws {
        let server = try fickleServer(moment)
        defer { server.stop() }
        let source = StreamSource { _ in InputStream(data: Self.content) }
        let session = URLSession.forTest(delegate: source)
        defer { session.invalidateAndCancel() }
        #expect(await session.load(server.url("/")).text == "first")
        let directory = try TemporaryDirectory()
        let request = URLRequest(server.url("/"), method: "POST")
        let task: URLSessionUploadTask
        switch kind {
        case "data": task = session.uploadTask(with: request, from: Self.content)
        case "file": task = session.uploadTask(with: request, fromFile: try directory.file(Self.content))
        default: task = session.uploadTask(withStreamedRequest: request)
        }
        task.resume()
        #expect(try await source.completion() == nil)
        // Until the first bytes have gone out, the stream is as good as new.
        let expected = kind != "stream" ? 0...0 : moment == .atHead ? 1...2 : 2...2
        #expect(expected.contains(source.record.value.asked))
        #expect(server.requests.last?.body == Self.content)
        #expect(server.requestCount == 3)
    }

    @Test("The metrics of a body that is sent again count it twice")
    func metrics() async throws {
        let server = try fickleServer(.behindBody)
        defer { server.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        #expect(await session.load(server.url("/")).text == "first")
        let request = URLRequest(server.url("/"), method: "PUT", body: Self.content)
        let metrics = try await MetricsTests.metrics(of: request, in: session)
        #expect(server.requestCount == 3)
        let counts = metrics.transactionMetrics.map(\.countOfRequestBodyBytesSent)
        #expect(counts.reduce(0, +) == 2 * Int64(Self.content.count))
    }

    @Test("With a stream that can't be had again, a connection that dies under the body fails the task clearly")
    func deadConnectionUnderStream() async throws {
        let server = try fickleServer(.behindBody)
        defer { server.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        #expect(await session.load(server.url("/")).text == "first")
        var request = URLRequest(server.url("/"), method: "POST")
        request.httpBodyStream = InputStream(data: Self.content)
        #expect(await session.load(request).error?.code == .requestBodyStreamExhausted)
        #expect(server.requestCount == 2)
    }

    @Test("A new connection that dies is not tried again")
    func newConnection() async throws {
        let rig = try Rig(answering: .atHead) { _ in .raw([.reset]) }
        defer { rig.stop() }
        let error = await rig.session.load(URLRequest(rig.url("/"), method: "POST", body: Self.content)).error
        #expect(error?.code == .networkConnectionLost)
        #expect(rig.server.requestCount == 1)
    }
}
