import CCurlNetworkingLibcurl
import Foundation
import CurlNetworkingLoopbackServer
import Testing

@testable import CurlTransport

@Suite("The send buffer", .timeLimit(.minutes(1)))
struct SendBufferTests {
    private struct SendBuffer: ConnectionSettings {
        let size: Int

        func apply(to easy: EasyHandle) throws(TransferFailure) {
            try easy.set(CURLOPT_UPLOAD_BUFFERSIZE, size)
        }
    }

    @Test("The origin's profile wins over the default size of the send buffer", arguments: [nil, 16, 512] as [Int?])
    func sendBuffer(kibibytes: Int?) async throws {
        let server = try LoopbackServer { .text("\($0.bodyLength)") }
        defer { server.stop() }
        let transfer = RecordedTransfer(requestBody: Data(count: 2_000_000))
        var options = MultiTests.get(server)
        options.method = "PUT"
        options.body = .known(2_000_000)
        options.connection = kibibytes.map { ConnectionProfile([SendBuffer(size: $0 << 10)]) }
        try await LoopRig.use { [options] rig in try await rig.run(transfer, options) }
        #expect(transfer.failure == nil)
        #expect(transfer.body == Data("2000000".utf8))
        #expect(transfer.largestBuffer == (kibibytes ?? 256) << 10)
    }
}
