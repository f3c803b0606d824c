import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Suspended before the head over HTTP/2", .timeLimit(.minutes(1)))
struct HTTP2SuspendTests {
    private typealias Server = ScriptedHTTP2Server

    @Test("A task delays its response, which comes all the same, and nobody else's", arguments: [1, 5])
    func beforeHead(count: Int) async throws {
        let gate = Gate()
        let server = try Server { request in
            (2..<2 + count).contains(request.number)
                ? [.waitFor(gate)] + Server.text("late") : Server.text("prompt")
        }
        defer { server.stop() }
        let other = try LoopbackServer { _ in .text("other") }
        defer { other.stop() }
        let delegate = RecordingDelegate()
        let session = try NginxHTTP2.shared().session(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let plain = URLSession.forTest()
        defer { plain.invalidateAndCancel() }
        #expect(await session.load(server.url()).text == "prompt")
        var tasks: [URLSessionTask] = []
        for number in 0..<count {
            let task = session.dataTask(with: server.url())
            tasks.append(task)
            task.resume()
            try await server.state.wait { $0.requests.count == number + 2 }
            task.suspend()
        }
        await session.flush()
        gate.open()
        for _ in 0..<5 {
            #expect(await session.load(server.url()).text == "prompt")
            #expect(await plain.load(other.url("/")).text == "other")
        }
        for task in tasks {
            #expect(delegate.story(of: task) == ["created"])
            task.resume()
            try await delegate.success(of: task)
            #expect(delegate.body(of: task) == Data("late".utf8))
        }
    }
}
