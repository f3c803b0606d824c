import Foundation
import CurlNetworkingLoopbackServer
import Testing

@testable import CurlTransport

@Suite("The buffers for sending and receiving", .timeLimit(.minutes(1)))
struct BufferSizeTests {
    private static func profile(_ name: String, kibibytes: Int?, needsBody: Bool) throws -> ConnectionProfile? {
        guard let kibibytes else { return nil }
        let option = try #require(NamedOption(name))
        return ConnectionProfile([NumberSetting(option, kibibytes << 10, needsBody: needsBody)])
    }

    @Test("The origin's profile wins over the default size of the send buffer", arguments: [nil, 16, 512] as [Int?])
    func sendBuffer(kibibytes: Int?) async throws {
        let server = try LoopbackServer { .text("\($0.bodyLength)") }
        defer { server.stop() }
        let transfer = RecordedTransfer(requestBody: Data(count: 2_000_000))
        var options = MultiTests.get(server)
        options.method = "PUT"
        options.body = .known(2_000_000)
        options.connection = try Self.profile("UPLOAD_BUFFERSIZE", kibibytes: kibibytes, needsBody: true)
        try await LoopRig.use { [options] rig in try await rig.run(transfer, options) }
        #expect(transfer.failure == nil)
        #expect(transfer.body == Data("2000000".utf8))
        #expect(transfer.largestBuffer == (kibibytes ?? 256) << 10)
    }

    @Test("The origin's profile wins over the default size of the receive buffer", arguments: [nil, 1, 4] as [Int?])
    func receiveBuffer(kibibytes: Int?) async throws {
        let server = try LoopbackServer { _ in .generated(length: 2_000_000) }
        defer { server.stop() }
        let transfer = RecordedTransfer()
        var options = MultiTests.get(server)
        options.connection = try Self.profile("BUFFERSIZE", kibibytes: kibibytes, needsBody: false)
        try await LoopRig.use { [options] rig in try await rig.run(transfer, options) }
        #expect(transfer.failure == nil)
        #expect(transfer.body.count == 2_000_000)
        let limit = kibibytes.map { $0 << 10 } ?? ReceiveBuffer.small
        #expect((limit / 2...limit).contains(transfer.largestPiece))
    }
}
