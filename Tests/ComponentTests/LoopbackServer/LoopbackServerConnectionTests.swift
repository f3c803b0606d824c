import Foundation
import TestSupport
import Testing

@testable import CurlNetworkingLoopbackServer

@Suite("The loopback server's connections", .timeLimit(.minutes(1)))
struct LoopbackServerConnectionTests {
    typealias Client = LoopbackServerRawClient

    @Test("Requests reuse their connection, and are recorded in order")
    func keepAlive() async throws {
        let server = try LoopbackServer { .text("\($0.ordinal) on \($0.connection)") }
        defer { server.stop() }
        let client = try Client(port: server.port)
        for ordinal in 1...3 {
            client.get("/\(ordinal)")
            #expect(client.receiveAnswer()?.text == "\(ordinal) on 1")
        }
        let other = try Client(port: server.port)
        other.get("/4")
        #expect(other.receiveAnswer()?.text == "4 on 2")
        #expect(server.requests.map(\.target) == ["/1", "/2", "/3", "/4"])
        #expect(server.requests.map(\.ordinalOnConnection) == [1, 2, 3, 1])
        #expect(server.connectionCount == 2)
        #expect(server.openConnections == 2)
        client.close()
        other.close()
        try await server.waitUntilNoConnections()
    }

    @Test("Pipelined requests are answered in order, however slow the first is")
    func pipelining() async throws {
        let gate = Gate()
        let server = try LoopbackServer { request in
            request.path == "/slow" ? Response.text("slow").after([.waitFor(gate)]) : .text(request.path)
        }
        defer { server.stop() }
        let client = try Client(port: server.port)
        client.get("/slow")
        for number in 1...100 { client.get("/\(number)") }
        try await server.waitForRequests(1)
        gate.open()
        #expect(client.receiveAnswer()?.text == "slow")
        for number in 1...100 { #expect(client.receiveAnswer()?.text == "/\(number)") }
    }

    typealias Response = LoopbackServer.Response

    @Test("A resource answers ranges with 206, and with 416 beyond its end")
    func ranges() throws {
        let length: Int64 = 1 << 40
        let server = try LoopbackServer { request in
            .resource(.generated(length: length, seed: 9), for: request, etag: "v1")
        }
        defer { server.stop() }
        let client = try Client(port: server.port)
        client.get("/", "Range: bytes=1000000000000-1000000099999\r\n")
        let part = try #require(client.receiveAnswer())
        #expect(part.status == 206)
        #expect(part.head.contains("Content-Range: bytes 1000000000000-1000000099999/\(length)\r\n"))
        #expect(part.body == GeneratedBody.bytes(seed: 9, range: 1_000_000_000_000..<1_000_000_100_000))
        client.get("/", "Range: bytes=\(length)-\r\n")
        #expect(client.receiveAnswer()?.status == 416)
        client.get("/", "If-None-Match: \"v1\"\r\n")
        #expect(client.receiveAnswer()?.status == 304)
    }

    @Test("A body larger than every buffer arrives whole")
    func largeBody() throws {
        let server = try LoopbackServer { _ in .generated(length: 20_000_000, seed: 4) }
        defer { server.stop() }
        let client = try Client(port: server.port)
        client.get("/")
        #expect(client.receiveAnswer()?.body == GeneratedBody.bytes(seed: 4, length: 20_000_000))
        #expect(server.bytesSent > 20_000_000)
        #expect(server.bytesSent(inAnswerTo: 1) == server.bytesSent)
    }

    @Test("A client that reads nothing blocks the server")
    func backPressure() async throws {
        let server = try LoopbackServer { _ in .generated(length: 1 << 40) }
        defer { server.stop() }
        let client = try Client(port: server.port)
        client.get("/")
        try await server.waitUntilBlocked()
        // Not at every moment while the system still makes room.
        try await eventually { server.blockedConnections == 1 }
        #expect(server.bytesSent < 1 << 30)
        client.close()
        try await server.waitUntilNoConnections()
        #expect(server.blockedConnections == 0)
    }

    @Test("Bodies with a length and in chunks are stored up to the limit, and counted beyond")
    func requestBodies() async throws {
        var options = LoopbackServer.Options()
        options.bodyLimit = 100_000
        let server = try LoopbackServer(options: options) { .text("\($0.bodyLength)") }
        defer { server.stop() }
        let client = try Client(port: server.port)
        let body = GeneratedBody.bytes(seed: 1, length: 1_000_000)
        client.send("POST / HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n")
        client.send(body)
        #expect(client.receiveAnswer()?.text == "1000000")
        client.send("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\nX-Sum: 1\r\n\r\n")
        #expect(client.receiveAnswer()?.text == "5")
        let requests = server.requests
        #expect(requests[0].body == body.prefix(100_000))
        #expect(requests[0].bodyLength == 1_000_000)
        #expect(requests[1].text == "abcde")
        #expect(requests[1].trailers.map(\.value) == ["1"])
        #expect(server.bodyBytesReceived == 1_000_005)
    }

    @Test("Expect: 100-continue gets 100 before the body")
    func continues() throws {
        let server = try LoopbackServer { .echoBody($0) }
        defer { server.stop() }
        let client = try Client(port: server.port)
        client.send("POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
        #expect(client.receiveAnswer()?.status == 100)
        client.send("hi")
        #expect(client.receiveAnswer()?.text == "hi")
    }

    @Test("An answer at the head comes before the body, and the connection lives on")
    func earlyAnswer() async throws {
        let server = try LoopbackServer(answering: .atHead) { _ in .text("early") }
        defer { server.stop() }
        let client = try Client(port: server.port)
        client.send("POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\n")
        #expect(client.receiveAnswer()?.text == "early")
        #expect(server.requests[0].bodyState == .arriving)
        client.send("hello")
        #expect(try await server.request(number: 1).text == "hello")
        client.get("/")
        #expect(client.receiveAnswer()?.text == "early")
        #expect(server.connectionCount == 1)
    }

    @Test("A server that closes before the body is there lets its answer arrive")
    func earlyClose() async throws {
        let server = try LoopbackServer(answering: .atHead) { _ in .status(413).closing() }
        defer { server.stop() }
        let client = try Client(port: server.port)
        client.send("POST / HTTP/1.1\r\nContent-Length: 10000000\r\n\r\n")
        client.send(Data(count: 1_000_000))
        let (data, ending) = client.receiveAll()
        #expect(String(decoding: data, as: UTF8.self).hasPrefix("HTTP/1.1 413 "))
        #expect(ending == .finished)
        client.close()
        try await server.waitUntilNoConnections()
        #expect(server.requests[0].bodyState == .cutOff)
    }

    @Test("A server can wait for the body in the middle of its answer")
    func waitForBody() throws {
        let server = try LoopbackServer(answering: .atHead) { _ in
            .raw([.bytes("HTTP/1.1 103 Early Hints\r\n\r\n"), .waitForBody, .bytes("HTTP/1.1 204 No Content\r\n\r\n")])
        }
        defer { server.stop() }
        let client = try Client(port: server.port)
        client.send("POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n")
        #expect(client.receiveAnswer()?.status == 103)
        client.send("hi")
        #expect(client.receiveAnswer()?.status == 204)
    }

    @Test("A server that doesn't read blocks the client")
    func stopsReading() async throws {
        let (reached, gate) = (Gate(), Gate())
        let server = try LoopbackServer(answering: .atHead) { _ in
            Response.text("done").after([.stopReading, .open(reached), .waitFor(gate), .resumeReading, .waitForBody])
        }
        defer { server.stop() }
        let client = try Client(port: server.port)
        client.send("POST / HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n")
        try await reached.wait()
        client.send(Data(count: 1_000_000))
        #expect(server.bodyBytesReceived == 0)
        gate.open()
        #expect(client.receiveAnswer()?.text == "done")
        #expect(server.bodyBytesReceived == 1_000_000)
    }

    @Test("Exact bytes come in exactly the pieces that the gates let through")
    func exactPieces() async throws {
        let gates = [Gate(), Gate()]
        let server = try LoopbackServer { _ in
            .raw([
                .bytes("HTTP/1.1 200 OK\r\nContent-Le"), .waitFor(gates[0]), .bytes("ngth: 4\r\n\r\nab"),
                .waitFor(gates[1]), .bytes("cd"),
            ])
        }
        defer { server.stop() }
        let client = try Client(port: server.port)
        client.get("/")
        #expect(client.receive(27) == Data("HTTP/1.1 200 OK\r\nContent-Le".utf8))
        #expect(server.bytesSent == 27)
        gates[0].open()
        #expect(client.receive(13) == Data("ngth: 4\r\n\r\nab".utf8))
        gates[1].open()
        #expect(client.receive(2) == Data("cd".utf8))
    }

    @Test("A body that is held at a byte comes up to there, and goes on when it may")
    func held() async throws {
        let gate = Gate()
        let server = try LoopbackServer { request in
            request.path == "/short"
                ? Response.text("ab").held(after: 2, until: gate)
                : .pieces([.bytes("a"), .bytes("bcd"), .bytes("e")]).held(after: 2, until: gate)
        }
        defer { server.stop() }
        let client = try Client(port: server.port)
        client.get("/short")
        #expect(client.receiveAnswer()?.text == "ab")
        let sent = server.bytesSent
        client.get("/")
        let head = try #require(client.receiveAnswer(toHead: true)?.head)
        #expect(client.receive(2) == Data("ab".utf8))
        #expect(server.bytesSent == sent + Int64(head.utf8.count) + 2)
        gate.open()
        #expect(client.receive(3) == Data("cde".utf8))
    }

    @Test("A throttled body takes its time, and a paused one its pause")
    func throttled() throws {
        let server = try LoopbackServer { request in
            request.path == "/pause"
                ? .pieces([.bytes("a"), .pause(.milliseconds(50)), .bytes("b")])
                : Response.generated(length: 5000, seed: 2).throttled(bytesPerSecond: 50_000)
        }
        defer { server.stop() }
        let client = try Client(port: server.port)
        let clock = ContinuousClock()
        let throttled = clock.measure {
            client.get("/")
            #expect(client.receiveAnswer()?.body == GeneratedBody.bytes(seed: 2, length: 5000))
        }
        #expect(throttled >= .milliseconds(100))
        let paused = clock.measure {
            client.get("/pause")
            #expect(client.receiveAnswer()?.text == "ab")
        }
        #expect(paused >= .milliseconds(50))
    }

    @Test("Nonsense is refused, and harms no other connection")
    func nonsense() async throws {
        var options = LoopbackServer.Options()
        options.headLimit = 1000
        let server = try LoopbackServer(options: options) { _ in .text("fine") }
        defer { server.stop() }
        let good = try Client(port: server.port)
        for (text, status) in [
            ("\u{16}\u{3}\u{1}\0\n\n", 400), ("GET / HTTP/2.0\r\n\r\n", 505),
            ("GET /" + String(repeating: "a", count: 2000), 431),
        ] {
            let client = try Client(port: server.port)
            client.send(text)
            let (data, ending) = client.receiveAll()
            #expect(String(decoding: data, as: UTF8.self).hasPrefix("HTTP/1.1 \(status) "))
            #expect(ending == .finished)
        }
        #expect(server.rejections == [400, 505, 431])
        good.get("/")
        #expect(good.receiveAnswer()?.text == "fine")
    }

    @Test("A client's FIN ends the connection, unless half-closing is allowed")
    func halfClose() async throws {
        for allows in [false, true] {
            var options = LoopbackServer.Options()
            options.allowsHalfClose = allows
            let gate = Gate()
            let server = try LoopbackServer(options: options) { _ in Response.text("late").after([.waitFor(gate)]) }
            let client = try Client(port: server.port)
            client.get("/")
            client.finishSending()
            try await server.waitForRequests(1)
            if !allows { try await server.waitUntilNoConnections() }
            gate.open()
            #expect(client.receiveAnswer()?.text == (allows ? "late" : nil))
            #expect(client.receiveAll().ending == .finished)
            server.stop()
        }
    }

    @Test("A client that goes away in the middle of its body is noticed")
    func cutOff() async throws {
        let server = try LoopbackServer { _ in .status(200) }
        defer { server.stop() }
        for (index, goAway) in [Client.close, Client.reset].enumerated() {
            let client = try Client(port: server.port)
            client.send("POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\nabc")
            try await server.waitForBodyBytesReceived(Int64(3 * (index + 1)))
            goAway(client)()
            try await server.waitUntilNoConnections()
        }
        #expect(server.requests.map(\.bodyState) == [.cutOff, .cutOff])
        #expect(server.requests.map(\.bodyLength) == [3, 3])
        #expect(try await server.request(number: 2).bodyState == .cutOff)
    }
}
