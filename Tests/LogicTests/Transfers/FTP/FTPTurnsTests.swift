import CurlNetworkingLoopbackServer
import CurlTransport
import Foundation
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("An FTP transfer's turns on the loop of its task", .timeLimit(.minutes(1)))
struct FTPTurnsTests {
    /// A consumer so slow that the next bytes have always arrived when it has taken some.
    ///
    /// `@unchecked Sendable`: the loop's until the gate opens.
    private final class SlowConsumer: IndifferentTransferDelegate, @unchecked Sendable {
        let isOver = Gate()
        var transfer: FTPTransfer?
        private let loop: EventLoop
        private var rest: Int
        private(set) var received = 0
        /// How many pieces had come when the loop had time for something else.
        private(set) var receivedBefore: Int?

        init(_ loop: EventLoop, count: Int) {
            (self.loop, rest) = (loop, count)
        }

        func produce() {
            guard rest > 0 else { return isOver.open() }
            rest -= 1
            [1].withUnsafeBytes { _ = transfer?.conversation.transferReceived(body: $0) }
        }

        func transfer(_ transfer: any Transfer, received body: UnsafeRawBufferPointer) throws(URLError) {
            if received == 0 { loop.submit { self.receivedBefore = self.received } }
            received += 1
            produce()
        }
    }

    @Test("However fast an FTP server's bytes come, other work has its turns in between, and nothing is left")
    func turns() async throws {
        let rig = try StepRig(Sample.request("ftp://example.com/file"))
        let loop = rig.pool.loop
        let consumer = SlowConsumer(loop, count: 1000)
        let transfer = FTPTransfer(
            FTPOptions(url: "ftp://example.com/file", direction: .download(offset: 0)),
            for: try #require(rig.request),
            body: nil,
            hooks: nil,
            connections: FTPConnections(limits: ConnectionLimits(kept: 1)),
            loop: loop,
            delegate: consumer
        )
        loop.submit {
            consumer.transfer = transfer
            consumer.produce()
        }
        try await consumer.isOver.wait()
        let (received, before) = await loop.perform {
            consumer.transfer = nil
            return (consumer.received, consumer.receivedBefore)
        }
        #expect(received == 1000)
        #expect(try #require(before) <= 16)
    }
}
