import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("The example of an event listener", .timeLimit(.minutes(1)))
struct EventListenerTests {
    private static func events(_ steps: [LoopbackServer.Step]) -> LoopbackServer.Response {
        .chunked(steps, contentType: "text/event-stream")
    }

    @Test("The event listener prints events as they come, goes on after the last one, and ends with the server")
    func listen() async throws {
        let gate = Gate()
        let server = try LoopbackServer { request in
            switch request.ordinal {
            case 1:
                Self.events([
                    .bytes(": hello\nretry: 10\n\nid: 1\ndata: one\n\n"), .waitFor(gate),
                    // The last one breaks off: it has not come.
                    .bytes("event: tick\r\ndata\r\ndata:two\r\ndata: lines\r\nid:2\r\n\r\nid: 3\ndata: never\n"),
                    .close,
                ])
            case 2: Self.events([.bytes("id: 3\ndata: {\"a\": 1}\n\n\ndata: without its own\n\n")])
            case 3: .status(503)
            default: .status(204)
            }
        }
        defer { server.stop() }
        let listener = try ExampleProgram.start("event-listener", server.url("/events").absoluteString)
        #expect(await listener.line() == #"message 1 "one""#)
        gate.open()
        let rest = await listener.remainingLines()
        #expect(
            rest == [
                #"tick 2 "\ntwo\nlines""#, #"message 3 "{\"a\": 1}""#, #"message 3 "without its own""#,
            ]
        )
        #expect(await listener.ending() == .exit(0))
        #expect(server.requests.map { $0.header("Last-Event-ID") } == [nil, "2", "3", "3"])
        #expect(server.requests.allSatisfy { $0.header("Accept") == "text/event-stream" })
    }

    @Test("The event listener ends lines where the specification does, and skips one byte order mark")
    func lines() async throws {
        let server = try LoopbackServer { request in
            guard request.ordinal == 1 else { return .status(204) }
            return Self.events([
                .bytes("\u{FEFF}retry: 10\ndata: first\n\n"),
                .bytes("data: a\u{85}b\u{2028}c\u{2029}d\u{B}e\u{C}f\r\rdata: g\r"), .bytes("\ndata: h\r\n\r"),
                .bytes("\nid: 1\ndata: \u{FEFF}\n\u{4}\n\n"),
            ])
        }
        defer { server.stop() }
        let listener = try ExampleProgram.start("event-listener", server.url("/events").absoluteString)
        let data = ["first", "a\u{85}b\u{2028}c\u{2029}d\u{B}e\u{C}f", "g\nh", "\u{FEFF}"]
        let ids = ["", "", "", "1"]
        let texts = data.map { $0.debugDescription.replacing("\u{85}", with: "?") }
        #expect(await listener.remainingLines() == zip(ids, texts).map { "message \($0) \($1)" })
        #expect(await listener.ending() == .exit(0))
    }

    @Test("The event listener begins where it is told")
    func start() async throws {
        let server = try LoopbackServer { _ in .status(204) }
        defer { server.stop() }
        let listener = try ExampleProgram.start("event-listener", server.url.absoluteString, "47")
        #expect(await listener.ending() == .exit(0))
        #expect(server.requests.map { $0.header("Last-Event-ID") } == ["47"])
    }

    @Test("The event listener doesn't come back to a server that has no events")
    func refusal() async throws {
        let server = try LoopbackServer { _ in .text("<html>", contentType: "text/html") }
        defer { server.stop() }
        let listener = try ExampleProgram.start("event-listener", server.url.absoluteString, mergesErrors: true)
        #expect(await listener.remainingLines() == ["no events at \(server.url.absoluteString): 200"])
        #expect(await listener.ending() == .exit(1))
        #expect(server.requestCount == 1)
    }

    @Test("The event listener ends with Ctrl-C, whether it listens or waits", arguments: [true, false])
    func interruption(listens: Bool) async throws {
        let server = try LoopbackServer { _ in
            Self.events([.bytes("retry: 100000\ndata: x\n\n")] + (listens ? [.never] : []))
        }
        defer { server.stop() }
        let listener = try ExampleProgram.start("event-listener", server.url.absoluteString, mergesErrors: true)
        #expect(await listener.line() == #"message  "x""#)
        listener.kill(SIGINT)
        #expect(await listener.remainingLines() == ["interrupted"])
        #expect(await listener.ending() == .exit(130))
    }
}
