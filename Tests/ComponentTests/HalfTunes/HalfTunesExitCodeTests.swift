import TestSupport
import Testing

@testable import CurlNetworkingHalfTunes

@Suite("Half Tunes tells how it went", .timeLimit(.minutes(1)))
struct HalfTunesExitCodeTests {
    @Test("A wrong command line ends with code 2, and an unreachable catalogue with 1")
    func exitCodes() async {
        #expect(await Invocation.run(["get", "-j", "0", "http://h/"]) == 2)
        #expect(await Invocation.run(["search", "x", "--api", "http://127.0.0.1:1"]) == 1)
    }

    @Test("Output that can't be written is no success", arguments: ["halftunes", "switch-to-curlnetworking"])
    func lostOutput(program: String) async throws {
        let words = ["/bin/sh", "-c", "exec \"$0\" --help >/dev/full", try Products.program(program)]
        #expect(try await TestSupport.ChildProcess(words).ending() == .exit(1))
    }
}
