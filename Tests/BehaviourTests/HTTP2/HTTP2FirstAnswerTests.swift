import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

// Newer libcurls share a connection when its first answer has come.
@Suite("The first answer on an HTTP/2 connection", .timeLimit(.minutes(1)))
struct HTTP2FirstAnswerTests {
    private typealias Server = ScriptedHTTP2Server

    @Test("A first answer that takes long holds up no other request")
    func late() async throws {
        let gate = Gate()
        let server = try Server { $0.number == 1 ? [.waitFor(gate)] + Server.text("late") : Server.text("prompt") }
        defer { server.stop() }
        let session = try NginxHTTP2.shared().session()
        defer { session.invalidateAndCancel() }
        async let first = session.load(server.url())
        try await server.state.wait { $0.requests.count == 1 }
        await withTaskGroup(of: HandlerResult.self) { group in
            for _ in 0..<20 { group.addTask { await session.load(server.url()) } }
            for await result in group { #expect(result.text == "prompt", "\(result.error?.userInfo as Any)") }
        }
        #expect(server.state.value.connections <= 2)
        gate.open()
        #expect(await first.text == "late")
    }

    @Test("No request waits for a first answer that never came because its request was cancelled", arguments: [1, 4])
    func cancelled(count: Int) async throws {
        let server = try Server { $0.number <= count ? [] : Server.text("hello") }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = try NginxHTTP2.shared().session(delegate: delegate)
        defer { session.invalidateAndCancel() }
        for number in 1...count {
            let task = session.dataTask(with: server.url())
            task.resume()
            try await server.state.wait { $0.requests.count == number }
            task.cancel()
            #expect(try await delegate.completion(of: task)?.code == .cancelled)
        }
        for _ in 0..<3 { #expect(await session.load(server.url()).text == "hello") }
    }

    @Test("No request waits for a first answer that the server refused to give")
    func refused() async throws {
        // RFC 9113 §7: INTERNAL_ERROR
        let server = try Server { $0.number == 1 ? [.reset(2)] : Server.text("hello") }
        defer { server.stop() }
        let session = try NginxHTTP2.shared().session()
        defer { session.invalidateAndCancel() }
        #expect(await session.load(server.url()).error?.code == .networkConnectionLost)
        await withTaskGroup(of: HandlerResult.self) { group in
            for _ in 0..<20 { group.addTask { await session.load(server.url()) } }
            for await result in group { #expect(result.text == "hello", "\(result.error?.userInfo as Any)") }
        }
    }

    @Test("A request that is cancelled after the first answer leaves the connection to others")
    func kept() async throws {
        let server = try Server { $0.number == 2 ? [] : Server.text("hello") }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = try NginxHTTP2.shared().session(delegate: delegate)
        defer { session.invalidateAndCancel() }
        #expect(await session.load(server.url()).text == "hello")
        let task = session.dataTask(with: server.url())
        task.resume()
        try await server.state.wait { $0.requests.count == 2 }
        task.cancel()
        #expect(try await delegate.completion(of: task)?.code == .cancelled)
        #expect(await session.load(server.url()).text == "hello")
        #expect(server.state.value.connections == 1)
    }
}
