import CurlURLProtocol
import Foundation
import FoundationNetworking
import LoopbackServer
import TestSupport
import Testing

@Suite("Decisions of a stock session on our transport", .timeLimit(.minutes(1)))
struct StockDecisionTests {
    @Test("A redirect is followed, and the delegate asked", arguments: [true, false])
    func redirect(follows: Bool) async throws {
        let server = try LoopbackServer { $0.path == "/" ? .redirect(to: "/there") : .text("there") }
        defer { server.stop() }
        let delegate = StockDelegate(followsRedirects: follows)
        let session = StockSession.make(delegate: delegate)
        defer { session.finishTasksAndInvalidate() }
        session.dataTask(with: server.url("/")).resume()
        let state = try await delegate.end()
        #expect(state.events == ["redirect 302 to /there", follows ? "response 200" : "response 302"])
        #expect(server.requests.map(\.path) == (follows ? ["/", "/there"] : ["/"]))
    }

    @Test("Without a delegate it is followed too")
    func redirectWithoutDelegate() async throws {
        let server = try LoopbackServer { $0.path == "/" ? .redirect(to: "/there") : .text("there") }
        defer { server.stop() }
        let session = StockSession.make()
        defer { session.finishTasksAndInvalidate() }
        let (data, response) = try await session.data(from: server.url("/"))
        #expect(data == Data("there".utf8))
        #expect(response.url?.path == "/there")
    }

    @Test("A challenge is put to the delegate, whose credential is used")
    func challenge() async throws {
        let server = try LoopbackServer { request in
            request.headers(named: "Authorization").isEmpty
                ? .status(401).header("WWW-Authenticate", "Basic realm=\"here\"") : .text("welcome")
        }
        defer { server.stop() }
        let delegate = StockDelegate(credential: URLCredential(user: "me", password: "secret", persistence: .none))
        let session = StockSession.make(delegate: delegate)
        defer { session.finishTasksAndInvalidate() }
        session.dataTask(with: server.url("/")).resume()
        let state = try await delegate.end()
        #expect(state.events == ["challenge here", "response 200"])
        #expect(state.body == Data("welcome".utf8))
    }

    @Test("Cookies are kept in the stock session's storage, and sent from there")
    func cookies() async throws {
        let server = try LoopbackServer { request in
            .text(request.headers(named: "Cookie").first ?? "").header("Set-Cookie", "taste=good")
        }
        defer { server.stop() }
        let storage = URLSessionConfiguration.ephemeral.httpCookieStorage
        let session = StockSession.make { $0.httpCookieStorage = storage }
        defer { session.finishTasksAndInvalidate() }
        _ = try await session.data(from: server.url("/"))
        #expect(storage?.cookies?.map(\.value) == ["good"])
        let (data, _) = try await session.data(from: server.url("/"))
        #expect(data == Data("taste=good".utf8))
    }

    @Test("Cancelling ends the transfer, and the task with it")
    func cancel() async throws {
        let gate = Gate()
        let server = try LoopbackServer { _ in .text("never").after([.waitFor(gate)]) }
        defer {
            gate.open()
            server.stop()
        }
        let delegate = StockDelegate()
        let session = StockSession.make(delegate: delegate)
        defer { session.finishTasksAndInvalidate() }
        let task = session.dataTask(with: server.url("/"))
        task.resume()
        try await server.waitForRequests(1)
        task.cancel()
        #expect(try await delegate.end().ends == [.cancelled])
    }

    @Test("A suspended task goes on where it was")
    func suspend() async throws {
        let gate = Gate()
        let server = try LoopbackServer { _ in .text("hello").after([.waitFor(gate)]) }
        defer { server.stop() }
        let delegate = StockDelegate()
        let session = StockSession.make(delegate: delegate)
        defer { session.finishTasksAndInvalidate() }
        let task = session.dataTask(with: server.url("/"))
        task.resume()
        try await server.waitForRequests(1)
        task.suspend()
        task.resume()
        gate.open()
        let state = try await delegate.end()
        #expect(state.ends == [nil])
        #expect(state.body == Data("hello".utf8))
        #expect(server.requestCount == 1)
    }

    @Test("Errors are URLErrors")
    func failure() async throws {
        let server = try LoopbackServer { _ in .text("gone") }
        let url = server.url("/")
        server.stop()
        let session = StockSession.make()
        defer { session.finishTasksAndInvalidate() }
        let error = await #expect(throws: URLError.self) { _ = try await session.data(from: url) }
        #expect(error?.code == .cannotConnectToHost)
    }

    @Test("Sessions share nothing but the configuration: each has its own connections")
    func connections() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        for _ in 0..<2 {
            let session = StockSession.make()
            _ = try await session.data(from: server.url("/"))
            _ = try await session.data(from: server.url("/"))
            session.finishTasksAndInvalidate()
        }
        #expect(server.connectionCount == 2)
        #expect(server.requestCount == 4)
    }
}
