import CCurlNetworkingLibcurl
import Foundation
import CurlNetworkingLoopbackServer
import Testing

@testable import CurlTransport

@Suite("Writing a transfer's options onto its handle", .timeLimit(.minutes(1)))
struct EasyOptionsTests {
    /// Counts how often it is applied.
    ///
    /// `@unchecked Sendable`: its test alone has it.
    private final class Probe: ConnectionSettings, @unchecked Sendable {
        private(set) var count = 0

        func apply(to easy: EasyHandle) throws(TransferFailure) {
            count += 1
        }
    }

    static let directions: [FTPOptions.Direction] = [.download(offset: 5), .attributes, .upload(.known(3))]

    @Test("FTP writes what its origin's profile says once", arguments: directions)
    func ftp(direction: FTPOptions.Direction) throws {
        CurlLibrary.initialize()
        let probe = Probe()
        var options = FTPOptions(url: "ftps://127.0.0.1/file", direction: direction)
        options.connection = ConnectionProfile([probe])
        let easy = try #require(EasyHandle())
        try options.apply(to: easy)
        #expect(probe.count == 1)
    }

    @Test("HTTP writes what its origin's profile says once")
    func http() throws {
        CurlLibrary.initialize()
        let probe = Probe()
        var options = TransferOptions(url: "https://127.0.0.1/", method: "PUT")
        options.body = .known(3)
        options.connection = ConnectionProfile([probe])
        let easy = try #require(EasyHandle())
        try options.apply(to: easy)
        #expect(probe.count == 1)
    }

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
