import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("A process may exit at any moment", .timeLimit(.minutes(2)))
struct ProcessExitTests {
    static let moments: [Int64] = [0, 1, 1000, 100_000, 3_000_000]

    @Test("A process may exit in the middle of transfers of every kind, from whichever thread", arguments: moments)
    func duringTransfers(moment: Int64) async throws {
        let server = try LoopbackServer { _ in .generated(length: 1 << 30, seed: 1) }
        let directory = try TemporaryDirectory()
        for round in 0..<10 {
            let helper = try ChildProcess(
                [TestHelper.path(), "exit", server.url("/").absoluteString, "\(moment + Int64(round * 777))"],
                environment: ["TMPDIR": directory.url.path]
            )
            let ending = await helper.ending()
            #expect(ending == .exit(0), "moment \(moment), round \(round)")
        }
        try await server.waitUntilNoConnections()
    }

    @Test("A process may exit in the middle of handshakes and transfers over TLS")
    func duringTLS() async throws {
        let nginx = try Nginx.shared()
        let url = nginx.tls(NginxSite.largePath).absoluteString
        let trust = NginxTrust.isPossible ? try NginxTrust(nginx.site) : nil
        let directory = try TemporaryDirectory()
        let environment = ["TMPDIR": directory.url.path]
        for round in 0..<20 {
            // Without trust nothing ever comes, and the process ends during the handshakes.
            let limit = trust == nil ? 0 : round % 4 == 0 ? round / 4 : round * round * 20_000
            let helper =
                try trust?.startHelper("exit", url, "\(limit)", environment: environment)
                ?? ChildProcess([TestHelper.path(), "exit", url, "\(limit)"], environment: environment)
            let ending = await helper.ending()
            #expect(ending == .exit(0), "round \(round)")
        }
    }
}
