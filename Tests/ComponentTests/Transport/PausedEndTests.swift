import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@testable import CurlTransport

@Suite("The end of a paused transfer", .timeLimit(.minutes(1)))
struct PausedEndTests {
    @Test(
        "A paused transfer ends when it is continued, even if its connection has ended before",
        arguments: [true, false]
    )
    func kept(isComplete: Bool) async throws {
        let length = isComplete ? "" : "Content-Length: 10\r\n"
        let paused = Gate()
        let closed = Gate()
        let server = try LoopbackServer { _ in
            let head = "HTTP/1.1 200 OK\r\n\(length)Connection: close\r\n\r\n"
            return .raw([.bytes(head + "hello"), .waitFor(paused), .open(closed), .close])
        }
        defer { server.stop() }
        let transfer = RecordedTransfer()
        transfer.onSettled = { transfer, heard in
            guard !paused.isOpen, heard.contains(.body), transfer.easy?.setPaused(true) == true else { return }
            paused.open()
        }
        try await LoopRig.use { rig in
            try await rig.start(transfer, MultiTests.get(server))
            try await closed.wait()
            for _ in 0..<3 { try await rig.perform { _ in #expect(transfer.finishedCount == 0) } }
            try await rig.perform { _ in _ = transfer.easy?.setPaused(false) }
            try await transfer.finished.wait()
        }
        #expect(transfer.body == Data("hello".utf8))
        #expect((transfer.failure == nil) == isComplete)
        #expect(transfer.finishedCount == 1)
    }

    @Test("A paused transfer ends with an error if a callback refuses what was kept for it", arguments: [true, false])
    func refused(isCancelled: Bool) async throws {
        let paused = Gate()
        let server = try LoopbackServer { _ in
            .raw([.bytes("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello"), .never])
        }
        defer { server.stop() }
        let transfer = RecordedTransfer()
        transfer.verdict = { event in
            guard event == .body else { return .accepted }
            defer { paused.open() }
            return paused.isOpen ? .abort : .pause
        }
        try await LoopRig.use { rig in
            try await rig.start(transfer, MultiTests.get(server))
            try await paused.wait()
            try await rig.perform { _ in
                #expect(transfer.easy?.setPaused(false) == true)
                if isCancelled { transfer.cancel() }
            }
            try await transfer.finished.wait()
            try await server.waitUntilNoConnections()
        }
        let expected: CurlCode? = isCancelled ? nil : .writeError
        #expect(transfer.failure?.code == expected)
        #expect(transfer.finishedCount == (isCancelled ? 0 : 1))
        #expect(!transfer.wasDisturbed)
    }
}
