import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("The progress of an upload", .timeLimit(.minutes(1)))
struct UploadProgressTests {
    /// Totals grow, each by as much as was said, and end at the length.
    private func check(_ events: [DelegateEvent], _ length: Int64) {
        var total: Int64 = 0
        for case .sent(let bytes, let newTotal, let expected) in events {
            #expect(bytes > 0)
            #expect(newTotal == total + bytes)
            #expect(expected == length)
            total = newTotal
        }
        #expect(total == length)
    }

    @Test("didSendBodyData grows to the whole length, before the response", arguments: [1, 100_000, 20 << 20])
    func data(length: Int) async throws {
        let delegate = RecordingDelegate()
        let rig = try Rig(delegate: delegate) { .text("\($0.bodyLength)") }
        defer { rig.stop() }
        let body = Data(count: length)
        let task = rig.session.uploadTask(with: URLRequest(rig.url("/"), method: "POST"), from: body)
        task.resume()
        try await delegate.success(of: task)
        check(delegate.events(of: task), Int64(length))
        #expect(delegate.story(of: task) == ["created", "sent", "response", "data", "completed"])
        #expect(task.countOfBytesSent == Int64(length))
        #expect(task.countOfBytesExpectedToSend == Int64(length))
    }

    @Test("Files and request bodies have progress as well")
    func otherBodies() async throws {
        let directory = try TemporaryDirectory()
        let file = try directory.file(length: 2 << 20, seed: 1)
        let delegate = RecordingDelegate()
        let rig = try Rig(delegate: delegate) { _ in .text("done") }
        defer { rig.stop() }
        let request = URLRequest(rig.url("/"), method: "POST", body: Data(count: 5000))
        let fromFile = rig.session.uploadTask(with: URLRequest(rig.url("/"), method: "PUT"), fromFile: file)
        let fromRequest = rig.session.dataTask(with: request)
        for task in [fromFile, fromRequest] { task.resume() }
        try await delegate.success(of: fromFile)
        try await delegate.success(of: fromRequest)
        check(delegate.events(of: fromFile), 2 << 20)
        check(delegate.events(of: fromRequest), 5000)
    }

    @Test("Progress is told while the upload goes on")
    func whileSending() async throws {
        let (stopped, reads) = (Gate(), Gate())
        let delegate = RecordingDelegate()
        let rig = try Rig(answering: .atHead, delegate: delegate) { _ in
            .text("done").after([.stopReading, .open(stopped), .waitFor(reads), .resumeReading, .waitForBody])
        }
        defer { rig.stop() }
        let body = Data(count: 64 << 20)
        let task = rig.session.uploadTask(with: URLRequest(rig.url("/"), method: "PUT"), from: body)
        task.resume()
        try await delegate.wait(for: task) { $0.name == "sent" }
        #expect(delegate.completionCount(of: task) == 0)
        #expect(task.countOfBytesSent > 0 && task.countOfBytesSent < 64 << 20)
        reads.open()
        try await delegate.success(of: task)
        check(delegate.events(of: task), 64 << 20)
    }

    @Test("Progress is still told after a response that arrived early")
    func afterEarlyResponse() async throws {
        let responded = Gate()
        let delegate = RecordingDelegate()
        let rig = try Rig(answering: .atHead, delegate: delegate) { _ in
            let head = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"
            return .raw([
                .stopReading, .bytes(head), .waitFor(responded), .resumeReading, .waitForBody, .bytes("done"),
            ])
        }
        defer { rig.stop() }
        let body = Data(count: 64 << 20)
        let task = rig.session.uploadTask(with: URLRequest(rig.url("/"), method: "PUT"), from: body)
        task.resume()
        try await delegate.wait(for: task) { $0.name == "response" }
        responded.open()
        try await delegate.success(of: task)
        let afterResponse = delegate.events(of: task).drop { $0.name != "response" }
        #expect(afterResponse.contains { $0.name == "sent" })
        check(delegate.events(of: task), 64 << 20)
    }

    @Test("An empty body has no progress to tell")
    func empty() async throws {
        let delegate = RecordingDelegate()
        let rig = try Rig(delegate: delegate) { _ in .text("done") }
        defer { rig.stop() }
        let task = rig.session.uploadTask(with: URLRequest(rig.url("/"), method: "POST"), from: Data())
        task.resume()
        try await delegate.success(of: task)
        #expect(delegate.story(of: task) == ["created", "response", "data", "completed"])
    }
}
