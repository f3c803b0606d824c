import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Data tasks with a completion handler", .timeLimit(.minutes(1)))
struct DataHandlerTests {
    @Test("The handler gets the whole body and the response")
    func success() async throws {
        let rig = try Rig { _ in .generated(length: 1_000_000, seed: 2).header("X-Name", "value") }
        defer { rig.stop() }
        let result = await rig.session.load(rig.url("/path"))
        #expect(result.data == GeneratedBody.bytes(seed: 2, length: 1_000_000))
        #expect(result.response?.statusCode == 200)
        #expect(result.response?.url == rig.url("/path"))
        #expect(result.response?.value(forHTTPHeaderField: "X-Name") == "value")
        #expect(result.error == nil)
    }

    @Test("A body is complete however it is framed", arguments: ["chunked", "untilClose", "pieces"])
    func framings(framing: String) async throws {
        let length: Int64 = 300_000
        let body = LoopbackServer.Body.generated(length: length, seed: 6)
        let rig = try Rig { _ in
            switch framing {
            case "chunked": .chunked(body, size: 777, trailers: ["X-Trailer": "end"])
            case "untilClose": .body(body).untilClose()
            default: .pieces([.body(body[0..<1]), .pause(.milliseconds(1)), .body(body[1..<length])])
            }
        }
        defer { rig.stop() }
        let result = await rig.session.load(rig.url("/"))
        #expect(result.data == GeneratedBody.bytes(seed: 6, length: Int(length)))
        #expect(result.error == nil)
    }

    @Test("An error status is no error: the body arrives", arguments: [400, 401, 404, 500, 503])
    func errorStatus(status: Int) async throws {
        let rig = try Rig { _ in .text("sorry", status: status) }
        defer { rig.stop() }
        let result = await rig.session.load(rig.url("/"))
        #expect(result.response?.statusCode == status)
        #expect(result.text == "sorry")
        #expect(result.error == nil)
    }

    @Test("When the body breaks off, there is an error and the response, and no data")
    func brokenBody() async throws {
        let rig = try Rig { _ in .fault(.insideBody(after: 1000, of: 5000)) }
        defer { rig.stop() }
        let result = await rig.session.load(rig.url("/"))
        #expect(result.error?.code == .networkConnectionLost)
        #expect(result.data == nil)
        #expect(result.response?.statusCode == 200)
    }

    @Test("When there is no response at all, there is an error alone")
    func noResponse() async throws {
        let rig = try Rig { _ in .fault(.beforeAnyByte) }
        defer { rig.stop() }
        let result = await rig.session.load(rig.url("/"))
        #expect(result.error?.code == .networkConnectionLost)
        #expect(result.data == nil && result.response == nil)
    }

    @Test("The handler is called on the delegate queue, once")
    func queue() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let session = URLSession.forTest()
        let queue = session.delegateQueue
        let calls = Watched(0)
        let strays = Watched(0)
        for _ in 0..<20 {
            session.dataTask(with: server.url("/")) { _, _, _ in
                if OperationQueue.current !== queue { strays.update { $0 += 1 } }
                calls.update { $0 += 1 }
            }.resume()
        }
        try await calls.wait { $0 >= 20 }
        #expect(calls.value == 20 && strays.value == 0)
        session.finishTasksAndInvalidate()
    }

    @Test("The session's delegate isn't told of the response, the body and the end of a task that has a handler")
    func delegateIsLeftAlone() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession.forTest(delegate: delegate)
        let result = await session.load(server.url("/"))
        #expect(result.text == "hello")
        session.finishTasksAndInvalidate()
        try await delegate.invalidation()
        #expect(delegate.entries.map(\.event) == [.created, .becameInvalid])
    }

    @Test("A task that the program keeps lets its handler go, and what that has captured", arguments: [false, true])
    func release(isDownload: Bool) async throws {
        let rig = try Rig { _ in .text("hello") }
        defer { rig.stop() }
        let released = Gate()
        let task = task(in: rig, capturing: ReleaseProbe(released), isDownload: isDownload)
        task.resume()
        try await released.wait()
        #expect(task.state == .completed)
    }

    private func task(in rig: Rig, capturing probe: ReleaseProbe, isDownload: Bool) -> URLSessionTask {
        guard isDownload else {
            return rig.session.dataTask(with: rig.url("/")) { _, _, _ in withExtendedLifetime(probe) {} }
        }
        return rig.session.downloadTask(with: rig.url("/")) { _, _, _ in withExtendedLifetime(probe) {} }
    }
}
