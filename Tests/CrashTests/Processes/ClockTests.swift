import CurlNetworkingLoopbackServer
import Foundation
import Glibc
import TestSupport
import Testing

/// See `FAULT_CLOCK` in `Tests/Faults/faults.c`.
@Suite("When the system's clock is wrong", .timeLimit(.minutes(2)))
struct ClockTests {
    @Test(
        "A download works in the distant past and the distant future, and the program ends by itself",
        .enabled(if: !ProcessUsage.isSanitized),
        // In seconds: 57 years back; beyond the year 2262, until which nanoseconds since 1970 fit into 64 bits.
        arguments: [-1_795_000_000, 8_000_000_000]
    )
    func download(ahead: Int) async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let directory = try TemporaryDirectory()
        let library = try await FaultStage.shared.value.library.path
        let helper = try ChildProcess(
            [TestHelper.path(), "load", "file", server.url("/file").absoluteString],
            environment: ["FAULT_CLOCK": "\(ahead)", "LD_PRELOAD": library, "TMPDIR": directory.url.path]
        )
        #expect(await helper.line() == "ready")
        helper.say("load")
        let line = try #require(await helper.line())
        #expect(line.hasPrefix("file "))
        #expect(try String(contentsOfFile: String(line.dropFirst("file ".count)), encoding: .utf8) == "hello")
        helper.say("end")
        #expect(await helper.ending() == .exit(0))
    }
}
