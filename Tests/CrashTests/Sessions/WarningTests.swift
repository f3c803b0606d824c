import CurlNetworking
import Foundation
import Glibc
import Testing

@Suite("Warnings", .timeLimit(.minutes(1)))
struct WarningTests {
    @Test("Warnings do no harm if standard error is closed, full, or a pipe without a reader")
    func lostWarnings() async {
        await #expect(processExitsWith: .success) {
            let configuration = URLSessionConfiguration.ephemeral
            configuration.requiresDNSSECValidation = true
            signal(SIGPIPE, SIG_DFL)
            var ends: [Int32] = [-1, -1]
            try #require(pipe(&ends) == 0)
            close(ends[0])
            for descriptor in [ends[1], open("/dev/full", O_WRONLY)] {
                try #require(dup2(descriptor, 2) == 2)
                URLSession(configuration: configuration).invalidateAndCancel()
            }
            close(2)
            URLSession(configuration: configuration).invalidateAndCancel()
        }
    }
}
