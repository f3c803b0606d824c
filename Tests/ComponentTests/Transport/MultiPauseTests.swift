import Foundation
import CurlNetworkingLoopbackServer
import Testing

@testable import CurlTransport

@Suite("Pausing transfers", .timeLimit(.minutes(1)))
struct MultiPauseTests {
    /// Those of the linked libcurl, and what they ask for where transfers can't be paused with `CURLPAUSE_ALL`, which any version takes.
    static let quirks: [CurlQuirks] = {
        var spinning = CurlQuirks.current
        spinning.spinsWhilePaused = true
        return spinning == .current ? [.current] : [.current, spinning]
    }()

    @Test(
        "A paused transfer receives nothing more until it is continued, and loses and repeats no byte",
        arguments: quirks
    )
    func pausing(quirks: CurlQuirks) async throws {
        let length = 64_000_000
        let server = try LoopbackServer { _ in .generated(length: Int64(length), seed: 5) }
        defer { server.stop() }
        let transfer = RecordedTransfer()
        let paused = Gate()
        transfer.onSettled = { transfer, heard in
            guard !paused.isOpen, heard.contains(.body) else { return }
            if transfer.easy?.setPaused(true) == true { paused.open() }
        }
        try await LoopRig.use(quirks: quirks) { rig in
            try await rig.start(transfer, MultiTests.get(server))
            try await paused.wait()
            // The server can send no more: everything between it and us is full.
            try await server.waitUntilBlocked()
            let before = try await rig.perform { _ in transfer.body.count }
            let after = try await rig.perform { _ in transfer.body.count }
            #expect(before == after)
            #expect(before < length)
            #expect(!transfer.finished.isOpen)
            try await rig.perform { _ in _ = transfer.easy?.setPaused(false) }
            try await transfer.finished.wait()
        }
        #expect(transfer.failure == nil)
        #expect(transfer.body == GeneratedBody.bytes(seed: 5, length: length))
        #expect(server.connectionCount == 1)
    }

    @Test("Pausing and continuing at every settling changes no byte", arguments: quirks)
    func frequentPauses(quirks: CurlQuirks) async throws {
        let server = try LoopbackServer { _ in .generated(length: 2_000_000, seed: 6) }
        defer { server.stop() }
        let transfer = RecordedTransfer()
        transfer.onSettled = { transfer, heard in
            guard heard.contains(.body), let loop = transfer.multi?.loop else { return }
            _ = transfer.easy?.setPaused(true)
            loop.submit { _ = transfer.easy?.setPaused(false) }
        }
        try await LoopRig.use(quirks: quirks) { rig in try await rig.run(transfer, MultiTests.get(server)) }
        #expect(transfer.failure == nil)
        #expect(transfer.body == GeneratedBody.bytes(seed: 6, length: 2_000_000))
    }

    @Test("Paused again right after it was continued, a transfer still gets its heads line by line")
    func pausedAgainAtOnce() async throws {
        let answer = Gate()
        let sent = Gate()
        let head = ["HTTP/1.1 103 Early Hints", "Link: </a>", "", "HTTP/1.1 200 OK", "Content-Length: 5", ""]
        let bytes = head.map { $0 + "\r\n" }.joined() + "hello"
        let server = try LoopbackServer { _ in .raw([.waitFor(answer), .bytes(bytes), .open(sent)]) }
        defer { server.stop() }
        let transfer = RecordedTransfer()
        try await LoopRig.use { rig in
            try await rig.start(transfer, MultiTests.get(server))
            _ = try await server.requestHead(number: 1)
            try await rig.perform { _ in _ = transfer.easy?.setPaused(true) }
            answer.open()
            try await sent.wait()
            try await rig.perform { _ in
                _ = transfer.easy?.setPaused(false)
                _ = transfer.easy?.setPaused(true)
            }
            try await rig.perform { _ in }
            try await rig.perform { _ in _ = transfer.easy?.setPaused(false) }
            try await transfer.finished.wait()
        }
        #expect(transfer.failure == nil)
        #expect(transfer.lines == head)
        #expect(transfer.body == Data("hello".utf8))
    }

    @Test("A paused transfer can be cancelled")
    func cancelPaused() async throws {
        let server = try LoopbackServer { _ in .generated(length: 64_000_000) }
        defer { server.stop() }
        let transfer = RecordedTransfer()
        let paused = Gate()
        transfer.onSettled = { transfer, heard in
            guard heard.contains(.body), transfer.easy?.setPaused(true) == true else { return }
            paused.open()
        }
        try await LoopRig.use { rig in
            try await rig.start(transfer, MultiTests.get(server))
            try await paused.wait()
            try await rig.perform { _ in transfer.cancel() }
            try await server.waitUntilNoConnections()
        }
        #expect(transfer.finishedCount == 0)
        #expect(!transfer.wasDisturbed)
    }
}
