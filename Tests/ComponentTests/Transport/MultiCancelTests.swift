import Foundation
import CurlNetworkingLoopbackServer
import Testing

@testable import CurlTransport

@Suite("Cancelling transfers and closing a multi", .timeLimit(.minutes(1)))
struct MultiCancelTests {
    @Test(
        "A handler can cancel its transfer when any callback is settled, and hears nothing more",
        arguments: [RecordedTransfer.Event.headerLine, .body, .needsBody]
    )
    func cancelWhenSettled(event: RecordedTransfer.Event) async throws {
        let server = try LoopbackServer { _ in .generated(length: 1_000_000) }
        defer { server.stop() }
        let transfer = RecordedTransfer(requestBody: Data(count: 1_000_000))
        transfer.onSettled = { transfer, heard in
            if heard.contains(event) { transfer.cancel() }
        }
        try await LoopRig.use { rig in
            var options = MultiTests.get(server)
            if event == .needsBody {
                options.method = "PUT"
                options.body = .known(1_000_000)
            }
            try await rig.run(transfer, options)
            // The loop lives on, and so does the multi.
            let next = try await rig.run(RecordedTransfer(), MultiTests.get(server))
            #expect(next.body.count == 1_000_000)
            #expect(try await rig.perform { $0.transferCount } == 0)
        }
        #expect(transfer.isCancelled)
        #expect(transfer.finishedCount == 0)
        #expect(!transfer.wasDisturbed)
    }

    @Test("A transfer can be cancelled at once, before libcurl has done anything, and twice")
    func cancelAtOnce() async throws {
        let server = try LoopbackServer { _ in .text("") }
        defer { server.stop() }
        try await LoopRig.use { rig in
            let transfer = RecordedTransfer()
            try await rig.perform { multi in
                try transfer.start(MultiTests.get(server), in: multi)
                let easy = transfer.easy
                transfer.cancel()
                if let easy { multi.cancel(easy) }
            }
            try await rig.run(RecordedTransfer(), MultiTests.get(server))
            #expect(transfer.events == [])
        }
    }

    @Test("A handler can start another transfer when it settles and when it finishes")
    func startFromHandler() async throws {
        let server = try LoopbackServer { .text($0.path) }
        defer { server.stop() }
        let (first, second, third) = (RecordedTransfer(), RecordedTransfer(), RecordedTransfer())
        first.onSettled = { transfer, _ in
            guard second.multi == nil, let multi = transfer.multi else { return }
            try? second.start(MultiTests.get(server, "/2"), in: multi)
        }
        first.onFinished = { transfer in
            guard let multi = transfer.multi else { return }
            try? third.start(MultiTests.get(server, "/3"), in: multi)
        }
        try await LoopRig.use { rig in
            try await rig.run(first, MultiTests.get(server, "/1"))
            try await second.finished.wait()
            try await third.finished.wait()
        }
        #expect([first, second, third].map { String(decoding: $0.body, as: UTF8.self) } == ["/1", "/2", "/3"])
    }

    @Test("Closing ends running transfers without a word, and closes their connections")
    func close() async throws {
        let server = try LoopbackServer { _ in .never }
        defer { server.stop() }
        let transfers = (0..<20).map { _ in RecordedTransfer() }
        try await LoopRig.use { rig in
            for transfer in transfers { try await rig.start(transfer, MultiTests.get(server)) }
            try await server.waitForRequests(20)
        }
        try await server.waitUntilNoConnections()
        for transfer in transfers {
            #expect(transfer.finishedCount == 0)
            #expect(!transfer.events.contains(.finished))
        }
    }

    @Test("A multi can be closed from a handler", arguments: [true, false])
    func closeFromHandler(whenSettled: Bool) async throws {
        let server = try LoopbackServer { _ in .text("abc") }
        defer { server.stop() }
        let transfer = RecordedTransfer()
        let closed = Gate()
        if whenSettled {
            transfer.onSettled = { transfer, _ in
                transfer.multi?.close()
                closed.open()
            }
        } else {
            transfer.onFinished = { transfer in
                transfer.multi?.close()
                closed.open()
            }
        }
        try await LoopRig.use { rig in
            try await rig.start(transfer, MultiTests.get(server))
            try await closed.wait()
            await #expect(throws: TransferFailure.self) {
                try await rig.start(RecordedTransfer(), MultiTests.get(server))
            }
        }
        try await server.waitUntilNoConnections()
        #expect(transfer.finishedCount == (whenSettled ? 0 : 1))
    }
}
