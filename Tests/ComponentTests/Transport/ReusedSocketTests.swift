import Foundation
import CurlNetworkingLoopbackServer
import Testing

@testable import CurlTransport

@Suite("The numbers of sockets that libcurl has closed", .serialized, .timeLimit(.minutes(1)))
struct ReusedSocketTests {
    @Test(
        "A connection that has the number of one just closed isn't taken for idle while its transfer is paused",
        arguments: [true, false]
    )
    func paused(isSameMulti: Bool) async throws {
        let (ends, answers, goesOn, hasGoneOn) = (Gate(), Gate(), Gate(), Gate())
        let body = GeneratedBody.bytes(seed: 4, length: 1000)
        let name = LoopbackServer.UnixSocket.abstract("CurlNetworking \(UUID().uuidString)")
        let server = try LoopbackServer(unixSocket: name) { request in
            let head = "HTTP/1.1 200 OK\r\n\r\n"
            return request.path == "/first"
                ? .raw([.bytes(head + "hello"), .waitFor(ends), .close])
                : .raw([
                    .waitFor(answers), .bytes(Data(head.utf8) + body.prefix(100)), .waitFor(goesOn),
                    .bytes(body.dropFirst(100)), .open(hasGoneOn), .close,
                ])
        }
        defer { server.stop() }
        let (first, second) = (RecordedTransfer(), RecordedTransfer())
        let begun = Gate()
        first.onSettled = { _, heard in if heard.contains(.body) { begun.open() } }
        second.onSettled = { transfer, heard in
            if heard.contains(.body) { #expect(transfer.easy?.setPaused(true) == true) }
        }
        try await LoopRig.use { rig in
            try await rig.start(first, Self.get(name, "/first"))
            try await begun.wait()
            // In one step, so that the multis settle only after it.
            try await rig.perform { multi in
                let socket = try #require(first.easy?.socket)
                let other = isSameMulti ? multi : try Multi(loop: multi.loop, limits: ConnectionLimits(kept: 100))
                // A new handle of libcurl's has descriptors, too, so that comes first.
                if !isSameMulti { try second.start(Self.get(name, "/second"), in: other) }
                ends.open()
                // The server has closed its end by then, which may have had a lower number.
                try Self.waitForInput(on: socket)
                let placeholders = try Self.fillNumbers(below: socket)
                defer { for placeholder in placeholders { close(placeholder) } }
                try Self.serve(socket, in: multi)
                if isSameMulti { try second.start(Self.get(name, "/second"), in: other) }
                other.runTimers()
                try #require(second.easy?.socket == socket)
                answers.open()
                try Self.serve(socket, in: other)
                #expect(second.body.count == 100)
                #expect(first.finishedCount == 0)
            }
            try await first.finished.wait()
            goesOn.open()
            try await hasGoneOn.wait()
            // The loop has looked at what has arrived for it.
            for _ in 0..<3 { try await rig.perform { _ in #expect(second.finishedCount == 0) } }
            second.onSettled = { _, _ in }
            try await rig.perform { _ in _ = second.easy?.setPaused(false) }
            try await second.finished.wait()
            if !isSameMulti { try await rig.perform { _ in second.multi?.close() } }
        }
        #expect(first.body == Data("hello".utf8))
        #expect(second.failure == nil)
        #expect(second.body == body)
    }

    private static func get(_ socket: LoopbackServer.UnixSocket, _ path: String) -> TransferOptions {
        var options = TransferOptions(url: "http://localhost\(path)", method: "GET")
        guard case .abstract(let name) = socket else { return options }
        var names = NameSettings()
        names.unixSocket = .abstract(name)
        options.connection = ConnectionProfile([names])
        return options
    }

    /// Descriptors for all numbers below `socket` that are free: once it is closed, the next socket gets its number.
    private static func fillNumbers(below socket: Int32) throws -> [Int32] {
        var placeholders: [Int32] = []
        while true {
            let placeholder = open("/dev/null", O_RDONLY | O_CLOEXEC)
            try #require(placeholder >= 0)
            placeholders.append(placeholder)
            if placeholder > socket { return placeholders }
        }
    }

    /// Has libcurl read from `socket` once there is something to read, or its end.
    private static func serve(_ socket: Int32, in multi: Multi) throws {
        try waitForInput(on: socket)
        multi.socketBecameReady(ReadySocket(owner: 0, socket: socket, readiness: SocketInterest.read.rawValue))
    }

    /// Returns when there is something to read from `socket`, or its end.
    private static func waitForInput(on socket: Int32) throws {
        var descriptor = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
        try #require(poll(&descriptor, 1, 10_000) == 1)
    }
}
