import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Suspended before the head over HTTP/2", .timeLimit(.minutes(1)))
struct HTTP2SuspendTests {
    private typealias Server = ScriptedHTTP2Server

    @Test(
        "A task suspended before the head gets its response once it is resumed, and delays no other",
        arguments: [1, 5]
    )
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
        // Not a flush, after which the others would have another connection.
        #expect(await session.load(server.url()).text == "prompt")
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

@Suite("Suspended before informational responses over HTTP/2", .timeLimit(.minutes(1)))
struct HTTP2SuspendedHeadTests {
    private typealias Server = ScriptedHTTP2Server

    /// Opened when the suspended task's answer may be sent.
    private let gate = Gate()
    /// Opened when it has been.
    private let sent = Gate()

    /// A server that answers the second request when `gate` opens, and others at once.
    private func server(_ answer: [Server.Step]) throws -> Server {
        try Server { [gate, sent] request in
            request.number == 2 ? [.waitFor(gate)] + answer + [.open(sent)] : Server.text("prompt")
        }
    }

    /// Suspends a task, and lets another one read what `server` sends for it then.
    private func answerSuspended(
        _ server: Server,
        _ delegate: TimelineDelegate,
        _ session: URLSession,
        body: Data?
    ) async throws -> URLSessionTask {
        #expect(await session.load(server.url()).text == "prompt")
        var request = URLRequest(url: server.url())
        request.httpMethod = body == nil ? "GET" : "PUT"
        request.httpBody = body
        let task = session.dataTask(with: request)
        task.resume()
        try await server.state.wait { $0.requests.count == 2 }
        task.suspend()
        // It has arrived once another task has had its turn.
        #expect(await session.load(server.url()).text == "prompt")
        gate.open()
        try await sent.wait()
        for _ in 0..<3 { #expect(await session.load(server.url()).text == "prompt") }
        #expect(Set(delegate.story(of: task)).isSubset(of: ["created", "sent"]))
        #expect(server.state.value.connections == 1)
        return task
    }

    private static func session(_ delegate: TimelineDelegate) -> URLSession {
        URLSession.forTest(delegate: delegate) { $0.curl.httpVersion = .http2PriorKnowledge }
    }

    @Test(
        "A task suspended before informational responses gets all of them once it is resumed, in order",
        arguments: [nil, Data("body".utf8)]
    )
    func informational(body: Data?) async throws {
        let hints = (1...3).map {
            Server.Step.headers(Server.fields(status: 103, [("link", "</\($0)>")]), ends: false)
        }
        let server = try server(
            hints + [
                .headers(Server.fields([("x-last", "yes")]), ends: false), .data(Data("late".utf8), ends: false),
                .headers(Server.trailers([("x-trailer", "yes")]), ends: true),
            ]
        )
        defer { server.stop() }
        let delegate = TimelineDelegate()
        let session = Self.session(delegate)
        defer { session.invalidateAndCancel() }
        let task = try await answerSuspended(server, delegate, session, body: body)
        task.resume()
        try await delegate.success(of: task)
        #expect(task.countOfBytesReceived == 4)
        #expect((task.response as? HTTPURLResponse)?.value(forHTTPHeaderField: "x-last") == "yes")
        let links = delegate.record.value.informational.map { $0.value(forHTTPHeaderField: "link") }
        #expect(links == ["</1>", "</2>", "</3>"])
    }
}

@Suite("Suspended amid the body over HTTP/2", .timeLimit(.minutes(1)))
struct HTTP2SuspendedBodyTests {
    private typealias Server = ScriptedHTTP2Server

    @Test(
        "A task suspended amid the body gets all that the server sent before it closed the connection",
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
