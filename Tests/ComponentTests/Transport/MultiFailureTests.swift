import Foundation
import Glibc
import CurlNetworkingLoopbackServer
import Testing

@testable import CurlTransport

@Suite("A transfer's failures", .timeLimit(.minutes(1)))
struct MultiFailureTests {
    @Test("A refused connection fails while connecting, with code 7 and ECONNREFUSED")
    func refused() async throws {
        let port = try LoopbackServer.refusingPort()
        let transfer = try await LoopRig.use { rig in
            try await rig.run(RecordedTransfer(), TransferOptions(url: "http://127.0.0.1:\(port)/", method: "GET"))
        }
        let failure = try #require(transfer.failure)
        #expect(failure.code == .couldntConnect)
        #expect(failure.systemErrno == ECONNREFUSED)
        #expect(failure.phase == .connecting)
        #expect(failure.text.contains("\(port)"))
        #expect(!transfer.wasDisturbed)
    }

    @Test("A name that can't be resolved fails while resolving")
    func unresolved() async throws {
        let transfer = try await LoopRig.use { rig in
            try await rig.run(RecordedTransfer(), TransferOptions(url: "http://name.invalid/", method: "GET"))
        }
        #expect(transfer.failure?.code == .couldntResolveHost)
        #expect(transfer.failure?.phase == .resolving)
        #expect(transfer.failure?.systemErrno == 0)
    }

    static let faultCases: [(LoopbackServer.Fault, CurlCode)] = [
        (.beforeAnyByte, .gotNothing), (.insideBody(after: 3, of: 5), .partialFile),
        (.insideChunk(after: 3), .partialFile), (.malformedChunk, .recvError),
    ]

    @Test("A server's fault fails one transfer, while receiving", arguments: faultCases)
    func faults(fault: LoopbackServer.Fault, code: CurlCode) async throws {
        let server = try LoopbackServer { _ in .fault(fault) }
        defer { server.stop() }
        let transfer = try await LoopRig.use { rig in try await rig.run(RecordedTransfer(), MultiTests.get(server)) }
        #expect(transfer.failure?.code == code)
        #expect([.receiving, .sending].contains(transfer.failure?.phase))
        #expect(transfer.finishedCount == 1)
    }

    @Test(
        "A transfer that libcurl refuses never begins",
        arguments: ["ftp://127.0.0.1/", "nonsense://x", "http://", "http://a b/"]
    )
    func refusedURL(url: String) async throws {
        try await LoopRig.use { rig in
            let transfer = RecordedTransfer()
            _ = try? await rig.run(transfer, TransferOptions(url: url, method: "GET"))
            let count = try await rig.perform { $0.transferCount }
            #expect(count == 0)
            if transfer.finishedCount > 0 {
                #expect([.unsupportedProtocol, .urlMalformat].contains(transfer.failure?.code))
            }
            #expect(transfer.lines == [])
        }
    }

    static let aborts: [(RecordedTransfer.Event, CurlCode)] = [
        (.headerLine, .writeError), (.body, .writeError), (.needsBody, .abortedByCallback),
    ]

    @Test("A handler can abort from every callback", arguments: aborts)
    func abort(event: RecordedTransfer.Event, code: CurlCode) async throws {
        let server = try LoopbackServer { _ in .text("abc") }
        defer { server.stop() }
        let transfer = RecordedTransfer(requestBody: Data("xyz".utf8))
        transfer.verdict = { $0 == event ? .abort : .accepted }
        try await LoopRig.use { rig in
            var options = MultiTests.get(server)
            options.method = "PUT"
            options.body = .known(3)
            try await rig.run(transfer, options)
        }
        #expect(transfer.failure?.code == code)
        #expect(transfer.finishedCount == 1)
    }
}
