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

@Suite("Suspended amid the body over HTTP/2", .timeLimit(.minutes(1)))
struct HTTP2SuspendedBodyTests {
    private typealias Server = ScriptedHTTP2Server

    @Test(
        "A task gets all that the server sent before it closed the connection, though another one ended on it last",
        arguments: [true, false]
    )
    func closedMeanwhile(isOpener: Bool) async throws {
        let (finish, rest, closed) = (Gate(), Gate(), Gate())
        let server = try Server { request in
            let begin: [Server.Step] = [
                .headers(Server.fields(), ends: false), .data(Data("begun ".utf8), ends: false),
            ]
            let end = Server.Step.data(Data("and ended".utf8), ends: true)
            let isSuspended = (request.number == 1) == isOpener
            return begin + (isSuspended ? [.waitFor(rest), end, .hangUp, .open(closed)] : [.waitFor(finish), end])
        }
        defer { server.stop() }
        let other = try Server { _ in Server.text("other") }
        defer { other.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession.forTest(delegate: delegate) { $0.curl.httpVersion = .http2PriorKnowledge }
        defer { session.invalidateAndCancel() }
        let tasks = (0..<2).map { _ in session.dataTask(with: server.url()) }
        for task in tasks {
            task.resume()
            try await delegate.wait(for: task, bytes: 1)
        }
        #expect(server.state.value.connections == 1)
        let task = tasks[isOpener ? 0 : 1]
        task.suspend()
        await session.flush()
        finish.open()
        try await delegate.success(of: tasks[isOpener ? 1 : 0])
        rest.open()
        try await closed.wait()
        // The loop has seen it by then.
        for _ in 0..<5 {
            await session.flush()
            #expect(await session.load(other.url()).text == "other")
        }
        task.resume()
        try await delegate.success(of: task)
        #expect(delegate.body(of: task) == Data("begun and ended".utf8))
    }
}
