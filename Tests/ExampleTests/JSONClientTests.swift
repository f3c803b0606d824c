import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("The example of a JSON client", .timeLimit(.minutes(1)))
struct JSONClientTests {
    private static let tasks = """
        [{"id": 1, "title": "Write", "isDone": true}, {"id": 2, "title": "Read", "isDone": false}]
        """

    @Test("The JSON client lists what the server has, once a busy server and a broken connection are over")
    func list() async throws {
        let server = try LoopbackServer { request in
            switch request.ordinal {
            case 1: .status(503).header("Retry-After", "0").closing()
            case 2: .raw([.reset])
            default: .text(Self.tasks, contentType: "application/json")
            }
        }
        defer { server.stop() }
        let client = try ExampleProgram.start("json-client", server.url.absoluteString, "list")
        #expect(await client.remainingLines() == ["[x] 1 Write", "[ ] 2 Read"])
        #expect(await client.ending() == .exit(0))
        #expect(server.requests.map(\.target) == ["/tasks", "/tasks", "/tasks"])
        #expect(server.requests[2].header("Accept") == "application/json")
    }

    @Test("The JSON client sends a new item again under the same key")
    func add() async throws {
        let server = try LoopbackServer { request in
            if request.ordinal == 1 { return .status(502) }
            return .text(#"{"id": 3, "title": "Rest", "isDone": false}"#, status: 201)
        }
        defer { server.stop() }
        let client = try ExampleProgram.start("json-client", server.url.absoluteString, "add", "Rest")
        #expect(await client.remainingLines() == ["[ ] 3 Rest"])
        #expect(await client.ending() == .exit(0))
        let requests = server.requests
        try #require(requests.count == 2)
        #expect(requests.map(\.method) == ["POST", "POST"])
        #expect(requests.map(\.text) == [#"{"title":"Rest"}"#, #"{"title":"Rest"}"#])
        let keys = requests.compactMap { $0.header("Idempotency-Key") }
        #expect(keys.count == 2 && Set(keys).count == 1)
    }

    @Test("The JSON client repeats nothing that could then be done twice, and says what the server says")
    func change() async throws {
        let server = try LoopbackServer { _ in .text(#"{"title": "Overloaded"}"#, status: 503) }
        defer { server.stop() }
        let client = try ExampleProgram.start(
            "json-client",
            server.url.absoluteString,
            "done",
            "7",
            mergesErrors: true
        )
        #expect(await client.remainingLines() == ["the server refused: 503 Overloaded"])
        #expect(await client.ending() == .exit(1))
        #expect(server.requests.map { "\($0.method) \($0.target)" } == ["PATCH /tasks/7"])
    }

    @Test("The JSON client gives up on a server that asks it to wait for long")
    func retryAfter() async throws {
        let server = try LoopbackServer { _ in .status(429).header("Retry-After", "3600") }
        defer { server.stop() }
        let client = try ExampleProgram.start("json-client", server.url.absoluteString, "list", mergesErrors: true)
        #expect(await client.remainingLines() == ["the server refused: 429 "])
        #expect(await client.ending() == .exit(1))
        #expect(server.requestCount == 1)
    }

    @Test("The JSON client reads no more of an endless answer than it can use", arguments: [200, 500])
    func endless(status: Int) async throws {
        let server = try LoopbackServer { _ in
            .body(.generated(length: 1 << 40), status: status, contentType: "application/json")
        }
        defer { server.stop() }
        let client = try ExampleProgram.start("json-client", server.url.absoluteString, "list", mergesErrors: true)
        #expect(await client.remainingLines() == ["the server's answer is too long"])
        #expect(await client.ending() == .exit(1))
        #expect(server.requestCount == 1)
    }

    @Test("The JSON client asks again when there is no answer in time")
    func timeout() async throws {
        let server = try LoopbackServer { $0.ordinal == 1 ? .never : .text(Self.tasks) }
        defer { server.stop() }
        let client = try ExampleProgram.start("json-client", "--timeout", "2", server.url.absoluteString, "list")
        #expect(await client.remainingLines().count == 2)
        #expect(await client.ending() == .exit(0))
        #expect(server.requestCount > 1)
    }

    @Test("The JSON client ends with Ctrl-C", arguments: [SIGINT, SIGTERM])
    func interruption(signal: Int32) async throws {
        let server = try LoopbackServer { _ in .never }
        defer { server.stop() }
        let client = try ExampleProgram.start("json-client", server.url.absoluteString, "list", mergesErrors: true)
        _ = try await server.requestHead(number: 1)
        client.kill(signal)
        #expect(await client.remainingLines() == ["interrupted"])
        #expect(await client.ending() == .exit(130))
    }

    @Test("The JSON client says how it is used")
    func usage() async throws {
        let client = try ExampleProgram.start("json-client", "list", mergesErrors: true)
        #expect(await client.remainingLines().first?.hasPrefix("usage: curlnetworking-json-client ") == true)
        #expect(await client.ending() == .exit(64))
    }

    @Test(
        "The JSON client says how it is used if it can't use an option or its value",
        arguments: [
            ("--timeout", "soon"), ("--timeout", "0"), ("--timeout", "nan"), ("--attempts", "0"), ("--attempts", "1.5"),
            ("--tries", "1"),
        ]
    )
    func wrongOption(name: String, value: String) async throws {
        let server = try LoopbackServer { _ in .text(Self.tasks) }
        defer { server.stop() }
        let base = server.url.absoluteString
        let client = try ExampleProgram.start("json-client", name, value, base, "list", mergesErrors: true)
        #expect(await client.remainingLines().first?.hasPrefix("usage: curlnetworking-json-client ") == true)
        #expect(await client.ending() == .exit(64))
        #expect(server.requestCount == 0)
    }
}
