import CCurlNetworkingLibcurl
import Foundation
import CurlNetworkingLoopbackServer
import Testing

@testable import CurlTransport

/// libcurl names such a descriptor for an HTTP/2 transfer whose connection another one has lost.
@Suite("Invalid descriptors that libcurl names", .timeLimit(.minutes(1)))
struct MultiStrandedTests {
    @Test("A transfer that would wait for an invalid descriptor fails at once, and no other does")
    func stranded() async throws {
        let gate = Gate()
        let server = try LoopbackServer { _ in .text("hello").after([.waitFor(gate)]) }
        defer { server.stop() }
        let (lost, other) = (RecordedTransfer(), RecordedTransfer())
        try await LoopRig.use { rig in
            try await rig.start(lost, MultiTests.get(server))
            try await rig.start(other, MultiTests.get(server))
            try await server.waitForRequests(2)
            try await rig.perform { multi in
                multi.sockets.interestChanged(-1, CURL_POLL_IN, of: lost.easy)
                multi.sockets.interestChanged(-1, CURL_POLL_INOUT, of: nil)
            }
            try await lost.finished.wait()
            #expect(other.finishedCount == 0)
            gate.open()
            try await other.finished.wait()
        }
        #expect(lost.failure?.code == .recvError)
        #expect(lost.finishedCount == 1)
        #expect(!lost.wasDisturbed)
        #expect(other.failure == nil)
        #expect(other.body == Data("hello".utf8))
    }

    @Test("When libcurl runs out of memory, every transfer ends with that, a paused one too, and the next one works")
    func lackOfMemory() async throws {
        let gate = Gate()
        let server = try LoopbackServer { _ in .text("hello").after([.waitFor(gate)]) }
        defer { server.stop() }
        let (running, paused, next) = (RecordedTransfer(), RecordedTransfer(), RecordedTransfer())
        try await LoopRig.use { rig in
            try await rig.start(running, MultiTests.get(server))
            try await rig.start(paused, MultiTests.get(server))
            try await server.waitForRequests(2)
            try await rig.perform { multi in
                #expect(paused.easy?.setPaused(true) == true)
                multi.ranOutOfMemory()
                #expect(paused.easy?.setPaused(false) == false, "libcurl isn't told to continue")
            }
            try await running.finished.wait()
            try await paused.finished.wait()
            gate.open()
            try await rig.run(next, MultiTests.get(server))
        }
        for transfer in [running, paused] {
            #expect(transfer.failure?.code == .outOfMemory)
            #expect(transfer.failure?.systemErrno == ENOMEM)
            #expect(transfer.finishedCount == 1)
            #expect(!transfer.wasDisturbed)
        }
        #expect(next.failure == nil)
        #expect(next.body == Data("hello".utf8))
    }

    @Test("A transfer goes on if libcurl takes an invalid descriptor back, or names another", arguments: [true, false])
    func rescued(takesBack: Bool) async throws {
        let gate = Gate()
        let server = try LoopbackServer { _ in .text("hello").after([.waitFor(gate)]) }
        defer { server.stop() }
        let transfer = RecordedTransfer()
        try await LoopRig.use { rig in
            try await rig.start(transfer, MultiTests.get(server))
            try await server.waitForRequests(1)
            try await rig.perform { multi in
                let easy = try #require(transfer.easy)
                let socket = try #require(easy.socket)
                multi.sockets.interestChanged(-1, CURL_POLL_IN, of: easy)
                if takesBack {
                    multi.sockets.interestChanged(-1, CURL_POLL_REMOVE, of: easy)
                } else {
                    multi.sockets.interestChanged(socket, CURL_POLL_IN, of: easy)
                }
            }
            gate.open()
            try await transfer.finished.wait()
        }
        #expect(transfer.failure == nil)
        #expect(transfer.body == Data("hello".utf8))
    }
}
