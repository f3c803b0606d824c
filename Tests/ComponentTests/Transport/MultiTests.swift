import Foundation
import Glibc
import CurlNetworkingLoopbackServer
import Testing

@testable import CurlTransport

@Suite("libcurl on an event loop, without URLSession", .timeLimit(.minutes(1)))
struct MultiTests {
    static func get(_ server: LoopbackServer, _ path: String = "/") -> TransferOptions {
        TransferOptions(url: server.url(path).absoluteString, method: "GET")
    }

    @Test("A GET brings its head line by line and its body, and finishes once")
    func simpleGet() async throws {
        let server = try LoopbackServer { _ in .text("Hello").header("X-A", "b") }
        defer { server.stop() }
        let transfer = try await LoopRig.use { rig in
            let transfer = try await rig.run(RecordedTransfer(), Self.get(server, "/a?b"))
            #expect(try await rig.perform { $0.transferCount } == 0)
            return transfer
        }
        #expect(transfer.lines.first == "HTTP/1.1 200 OK")
        #expect(transfer.lines.contains("X-A: b"))
        #expect(transfer.lines.last == "")
        #expect(transfer.body == Data("Hello".utf8))
        #expect(transfer.failure == nil)
        #expect(transfer.finishedCount == 1)
        #expect(!transfer.wasDisturbed)
        #expect(server.requests.first?.target == "/a?b")
    }

    @Test("Each series of callbacks is settled once, and the end comes last")
    func settling() async throws {
        let server = try LoopbackServer { _ in .generated(length: 300_000) }
        defer { server.stop() }
        let transfer = try await LoopRig.use { rig in try await rig.run(RecordedTransfer(), Self.get(server)) }
        #expect(transfer.body == GeneratedBody.bytes(seed: 0, length: 300_000))
        #expect(transfer.events.last == .finished)
        for (event, next) in zip(transfer.events, transfer.events.dropFirst()) where event == .settled {
            #expect(next != .settled, "settled without having heard anything")
        }
        let beforeEnd = transfer.events.dropLast().last
        #expect(beforeEnd == .settled)
    }

    @Test("A body is sent, with its length or chunked", arguments: [TransferOptions.Body.known(100_000), .chunked])
    func upload(body: TransferOptions.Body) async throws {
        let server = try LoopbackServer { .text("\($0.bodyLength)") }
        defer { server.stop() }
        let data = GeneratedBody.bytes(seed: 3, length: 100_000)
        let transfer = try await LoopRig.use { rig in
            var options = Self.get(server)
            options.method = "POST"
            options.body = body
            options.headers = ["Expect:"]
            return try await rig.run(RecordedTransfer(requestBody: data), options)
        }
        #expect(transfer.failure == nil)
        let request = try #require(server.requests.first)
        #expect(request.method == "POST")
        #expect(request.body == data)
        #expect(request.header("Content-Length") == (body == .chunked ? nil : "100000"))
        #expect(request.header("Transfer-Encoding") == (body == .chunked ? "chunked" : nil))
    }

    static let methodCases: [(String, TransferOptions.Body)] = [
        ("GET", .none), ("HEAD", .none), ("POST", .none), ("DELETE", .none), ("OPTIONS", .none), ("PROPFIND", .none),
        ("GET", .known(3)), ("POST", .known(3)), ("PUT", .known(0)), ("DELETE", .known(3)), ("PATCH", .chunked),
    ]

    @Test("Every method goes out with a body or without", arguments: methodCases)
    func methods(method: String, body: TransferOptions.Body) async throws {
        let server = try LoopbackServer { _ in .text("abc") }
        defer { server.stop() }
        let transfer = try await LoopRig.use { rig in
            var options = Self.get(server)
            options.method = method
            options.body = body
            return try await rig.run(
                RecordedTransfer(requestBody: body == .known(0) ? Data() : Data("xyz".utf8)),
                options
            )
        }
        #expect(transfer.failure == nil)
        let request = try #require(server.requests.first)
        #expect(request.method == method)
        #expect(request.text == (body == .none || body == .known(0) ? "" : "xyz"))
        #expect(transfer.body == (method == "HEAD" ? Data() : Data("abc".utf8)))
    }

    @Test("Headers, empty ones and suppressed ones, and credentials arrive as they were told")
    func headers() async throws {
        let server = try LoopbackServer { _ in .text("") }
        defer { server.stop() }
        try await LoopRig.use { rig in
            var options = Self.get(server)
            options.headers = ["X-A: b", "X-Empty;", "Accept:"]
            options.credentials = ("us:er", "pä ss")
            try await rig.run(RecordedTransfer(), options)
        }
        let request = try #require(server.requests.first)
        #expect(request.header("X-A") == "b")
        #expect(request.header("X-Empty") == "")
        #expect(request.header("Accept") == nil)
        #expect(request.header("Authorization") == "Basic " + Data("us:er:pä ss".utf8).base64EncodedString())
    }

    @Test(
        "The path goes out as it is",
        arguments: ["/a/../b", "/./x//y", "/a%2Fb", "/?q=%20+ä".replacing("ä", with: "%C3%A4")]
    )
    func paths(path: String) async throws {
        let server = try LoopbackServer { _ in .text("") }
        defer { server.stop() }
        try await LoopRig.use { rig in
            try await rig.run(
                RecordedTransfer(),
                TransferOptions(url: server.url.absoluteString + path + "#f", method: "GET")
            )
        }
        #expect(server.requests.first?.target == path)
    }

    @Test("500 transfers at once each get their own answer")
    func many() async throws {
        let server = try LoopbackServer { .text($0.path) }
        defer { server.stop() }
        let transfers = (0..<500).map { _ in RecordedTransfer() }
        try await LoopRig.use { rig in
            try await rig.perform { multi in
                for (index, transfer) in transfers.enumerated() {
                    try transfer.start(Self.get(server, "/\(index)"), in: multi)
                }
                #expect(multi.transferCount == 500)
            }
            for transfer in transfers { try await transfer.finished.wait() }
            #expect(try await rig.perform { $0.transferCount } == 0)
        }
        for (index, transfer) in transfers.enumerated() {
            #expect(transfer.failure == nil)
            #expect(transfer.body == Data("/\(index)".utf8))
            #expect(transfer.finishedCount == 1)
            #expect(!transfer.wasDisturbed)
        }
    }

    @Test("Random cancellations among many transfers disturb no other")
    func randomCancellations() async throws {
        let server = try LoopbackServer { .generated(length: 50_000, seed: UInt64($0.path.count)) }
        defer { server.stop() }
        var generator = SeededGenerator(seed: 11)
        let transfers = (0..<200).map { _ in RecordedTransfer() }
        for transfer in transfers where generator.chance(50) {
            let fuse = Int.random(in: 1..<8, using: &generator)
            transfer.onSettled = { transfer, _ in
                if transfer.events.count(where: { $0 == .settled }) == fuse { transfer.cancel() }
            }
        }
        try await LoopRig.use { rig in
            try await rig.perform { multi in
                for transfer in transfers { try transfer.start(Self.get(server, "/abc"), in: multi) }
            }
            for transfer in transfers { try await transfer.finished.wait() }
            #expect(try await rig.perform { $0.transferCount } == 0)
        }
        let expected = GeneratedBody.bytes(seed: 4, length: 50_000)
        for transfer in transfers {
            #expect(transfer.finishedCount == (transfer.isCancelled ? 0 : 1))
            if !transfer.isCancelled { #expect(transfer.body == expected && transfer.failure == nil) }
            #expect(!transfer.wasDisturbed)
        }
    }

    @Test("Connections are kept for the next request")
    func connectionReuse() async throws {
        let server = try LoopbackServer { _ in .text("") }
        defer { server.stop() }
        try await LoopRig.use { rig in
            for _ in 0..<10 { try await rig.run(RecordedTransfer(), Self.get(server)) }
        }
        #expect(server.connectionCount == 1)
        #expect(server.requestCount == 10)
    }

    @Test("A transfer inherits nothing from the one before")
    func inheritance() async throws {
        let server = try LoopbackServer { _ in .text("abc") }
        defer { server.stop() }
        let plain = try await LoopRig.use { rig in
            var loud = Self.get(server, "/loud")
            loud.method = "PATCH"
            loud.body = .known(3)
            loud.headers = ["X-A: b", "Accept: text/loud", "User-Agent: loud"]
            loud.credentials = ("user", "password")
            loud.acceptEncoding = "gzip"
            loud.reuse = .awaited
            let first = RecordedTransfer(requestBody: Data("xyz".utf8))
            try await rig.run(first, loud)
            let quiet = Self.get(server, "/quiet")
            let second = try await rig.run(RecordedTransfer(), quiet)
            var head = Self.get(server, "/head")
            head.method = "HEAD"
            #expect(try await rig.run(RecordedTransfer(), head).body == Data())
            #expect(try await rig.run(RecordedTransfer(), quiet).body == Data("abc".utf8), "no HEAD any more")
            return second
        }
        let request = try #require(server.requests.first { $0.path == "/quiet" })
        #expect(request.method == "GET")
        #expect(request.body == Data())
        #expect(Set(request.headers.map { $0.name.lowercased() }) == ["host", "accept"])
        #expect(request.header("Accept") == "*/*")
        #expect(plain.body == Data("abc".utf8))
        #expect(plain.failure == nil)
    }

    @Test("A failure's text and errno don't reach the next transfer")
    func failureInheritance() async throws {
        let server = try LoopbackServer { _ in .fault(.beforeAnyByte) }
        defer { server.stop() }
        let port = try LoopbackServer.refusingPort()
        let (first, second) = try await LoopRig.use { rig in
            let refused = TransferOptions(url: "http://127.0.0.1:\(port)/", method: "GET")
            return (
                try await rig.run(RecordedTransfer(), refused),
                try await rig.run(RecordedTransfer(), Self.get(server))
            )
        }
        #expect(first.failure?.systemErrno == ECONNREFUSED)
        #expect(second.failure?.code == .gotNothing)
        #expect(second.failure?.systemErrno == 0)
        #expect(second.failure?.text != first.failure?.text)
    }
}
