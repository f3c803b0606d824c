import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Answers to an upload whose stream has nothing to read", .timeLimit(.minutes(1)))
struct UploadIdleStreamTests {
    struct Case: CustomTestStringConvertible {
        let testDescription: String
        /// What the server does when it has read all that there is.
        let steps: [LoopbackServer.Step]
        var status: Int?
        var error: URLError.Code?
    }

    private static func answer(_ status: Int, length: Int = 5, _ body: String = "early") -> LoopbackServer.Step {
        .bytes("HTTP/1.1 \(status) X\r\nContent-Length: \(length)\r\n\r\n\(body)")
    }

    /// libcurl asks for more of the body all the same, since the connection is to close anyway.
    private static let endless = LoopbackServer.Step.bytes("HTTP/1.1 403 X\r\nConnection: close\r\n\r\nearly")

    private static let chunkedSuccess = LoopbackServer.Step.bytes(
        "HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nearly\r\n0\r\n\r\n"
    )

    static let cases = [
        Case(testDescription: "none, and a close", steps: [.close], error: .networkConnectionLost),
        Case(testDescription: "none, and a reset", steps: [.reset], error: .networkConnectionLost),
        Case(testDescription: "an error, and nothing more", steps: [answer(413), .never], status: 413),
        Case(testDescription: "an error, and a close", steps: [answer(500), .close], status: 500),
        Case(testDescription: "half an error", steps: [answer(413, length: 6), .close], error: .networkConnectionLost),
        Case(testDescription: "a success, and a close", steps: [answer(200), .close], status: 200),
        Case(testDescription: "half of one", steps: [answer(200, length: 6), .close], error: .networkConnectionLost),
        Case(testDescription: "chunks, and a close", steps: [chunkedSuccess, .close], error: .networkConnectionLost),
    ]

    @Test(
        "Answers while the stream gives nothing count at once, as they do while the body flows",
        arguments: cases,
        [nil, "2000"]
    )
    func answers(_ expected: Case, length: String?) async throws {
        let (source, stream, directory) = try idleStream()
        defer { withExtendedLifetime(directory) { try? stream.finish() } }
        let rig = try Rig(answering: .atHead, delegate: source) { _ in
            .raw([.receive(upTo: 1000) { _ in expected.steps }])
        }
        defer { rig.stop() }
        let task = upload(rig, length)
        #expect(try await source.completion()?.code == expected.error)
        if let status = expected.status {
            #expect((task.response as? HTTPURLResponse)?.statusCode == status)
            #expect(source.record.value.body == Data("early".utf8))
        }
    }

    @Test("An error without an end, on a connection that is to close, times out", arguments: [nil, "2000"])
    func endlessError(length: String?) async throws {
        let (source, stream, directory) = try idleStream()
        defer { withExtendedLifetime(directory) { try? stream.finish() } }
        let rig = try Rig(answering: .atHead, delegate: source) { _ in
            .raw([.receive(upTo: 1000) { _ in [Self.endless, .never] }])
        }
        defer { rig.stop() }
        // Long enough for the head to arrive.
        let task = upload(rig, length, timeout: 2)
        #expect(try await source.completion()?.code == .timedOut)
        #expect((task.response as? HTTPURLResponse)?.statusCode == 403)
    }

    @Test("A server that goes away long after its answer was complete is noticed")
    func laterClose() async throws {
        let (source, stream, directory) = try idleStream()
        defer { withExtendedLifetime(directory) { try? stream.finish() } }
        let gate = Gate()
        defer { gate.open() }
        let rig = try Rig(answering: .atHead, delegate: source) { _ in
            .raw([.receive(upTo: 1000) { _ in [Self.answer(200), .waitFor(gate), .close] }])
        }
        defer { rig.stop() }
        let task = upload(rig, "2000")
        try await source.record.wait { $0.body.count == 5 }
        gate.open()
        #expect(try await source.completion() == nil)
        #expect((task.response as? HTTPURLResponse)?.statusCode == 200)
    }

    @Test("A success doesn't end an upload whose stream goes on")
    func rest() async throws {
        let (source, stream, directory) = try idleStream()
        defer { withExtendedLifetime(directory) { try? stream.finish() } }
        let rig = try Rig(answering: .atHead, delegate: source) { _ in
            .raw([.receive(upTo: 1000) { _ in [Self.answer(200), .waitForBody] }])
        }
        defer { rig.stop() }
        let task = upload(rig, "2000")
        try await source.record.wait { $0.body.count == 5 }
        try stream.write(Data(count: 1000))
        #expect(try await source.completion() == nil)
        #expect(task.countOfBytesSent == 2000)
    }

    /// A stream that has had 1,000 bytes.
    private func idleStream() throws -> (StreamSource, BlockingStream, TemporaryDirectory) {
        let directory = try TemporaryDirectory()
        let stream = try BlockingStream(in: directory)
        try stream.write(Data(count: 1000))
        return (StreamSource { _ in stream.stream }, stream, directory)
    }

    private func upload(_ rig: Rig, _ length: String?, timeout: TimeInterval = 60) -> URLSessionUploadTask {
        var request = URLRequest(rig.url("/"), method: "POST")
        request.timeoutInterval = timeout
        request.setValue(length, forHTTPHeaderField: "Content-Length")
        let task = rig.session.uploadTask(withStreamedRequest: request)
        task.resume()
        return task
    }
}
