import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Requests that are cancelled over HTTP/2", .timeLimit(.minutes(1)))
struct HTTP2CancelTests {
    private typealias Server = ScriptedHTTP2Server

    @Test(
        "The server hears of a cancellation, though the client has nothing else to say on the connection",
        arguments: [true, false]
    )
    func told(hasAnswer: Bool) async throws {
        let server = try Server { _ in
            hasAnswer ? [.headers(Server.fields(), ends: false), .data(Data("part".utf8), ends: false)] : []
        }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = try NginxHTTP2.shared().session(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: server.url())
        task.resume()
        try await server.state.wait { $0.requests.count == 1 }
        if hasAnswer { try await delegate.wait(for: task, bytes: 4) }
        task.cancel()
        #expect(try await delegate.completion(of: task)?.code == .cancelled)
        try await server.state.wait { $0.abandoned == [1] }
    }

    @Test("The server hears of a cancellation over a Unix socket, too")
    func toldLocally() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.url.appendingPathComponent("h2.sock").path
        let server = try Server(path: path) { _ in [] }
        defer { server.stop() }
        let session = try NginxHTTP2.shared().session()
        defer { session.invalidateAndCancel() }
        let host = try #require(path.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
        let task = session.dataTask(with: try #require(URL(string: "http+unix://\(host)/")))
        task.resume()
        try await server.state.wait { $0.requests.count == 1 }
        task.cancel()
        try await server.state.wait { $0.abandoned == [1] }
    }

    @Test("The server hears of a cancellation, though the connection's other response is silent and goes on")
    func toldBesideAnother() async throws {
        let gate = Gate()
        let server = try Server { request in
            [.headers(Server.fields(), ends: false), .data(Data("part".utf8), ends: false)]
                + (request.number == 1 ? [.waitFor(gate), .data(Data(" rest".utf8), ends: true)] : [])
        }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = try NginxHTTP2.shared().session(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let (silent, cancelled) = (session.dataTask(with: server.url()), session.dataTask(with: server.url()))
        for task in [silent, cancelled] {
            task.resume()
            try await delegate.wait(for: task, bytes: 4)
        }
        cancelled.cancel()
        #expect(try await delegate.completion(of: cancelled)?.code == .cancelled)
        try await server.state.wait { $0.abandoned == [2] }
        gate.open()
        try await delegate.success(of: silent)
        #expect(delegate.body(of: silent) == Data("part rest".utf8))
        #expect(server.state.value.connections == 1)
    }

    @Test("A program that cancels one request after another, with pauses of less than a second, keeps its connection")
    func repeated() async throws {
        let server = try Server { $0.number == 1 ? Server.text("hello") : [] }
        defer { server.stop() }
        let session = try NginxHTTP2.shared().session()
        defer { session.invalidateAndCancel() }
        // Newer versions of libcurl keep no connection that never had a response.
        #expect(await session.load(server.url()).text == "hello")
        for count in 2...9 {
            let task = session.dataTask(with: server.url())
            task.resume()
            try await server.state.wait { $0.requests.count == count }
            task.cancel()
            try await Task.sleep(for: .milliseconds(200))
        }
        #expect(server.state.value.connections == 1)
    }

    @Test("The server of a redirect elsewhere hears that its body is longer than is read")
    func toldOfLongRedirect() async throws {
        let target = try Server { _ in Server.text("there") }
        defer { target.stop() }
        let location = Server.fields(status: 302, [("location", target.url().absoluteString)])
        let server = try Server { _ in [.headers(location, ends: false), .data(Data(count: 100 << 10), ends: false)] }
        defer { server.stop() }
        let session = try NginxHTTP2.shared().session()
        defer { session.invalidateAndCancel() }
        #expect(await session.load(server.url()).text == "there")
        try await server.state.wait { $0.abandoned == [1] }
    }
}
