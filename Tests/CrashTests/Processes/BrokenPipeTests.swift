import CurlNetworking
import Foundation
import Glibc
import Testing

@Suite("SIGPIPE, which would end the process", .timeLimit(.minutes(1)))
struct BrokenPipeTests {
    @Test("SIGPIPE is ignored once there is a session")
    func ignored() async {
        await #expect(processExitsWith: .success) {
            signal(SIGPIPE, SIG_DFL)
            let session = URLSession(configuration: .ephemeral)
            raise(SIGPIPE)
            session.invalidateAndCancel()
        }
    }

    @Test("SIGPIPE keeps its default action if the session is to leave it alone")
    func optedOut() async {
        await #expect(processExitsWith: .signal(SIGPIPE)) {
            signal(SIGPIPE, SIG_DFL)
            let configuration = URLSessionConfiguration.ephemeral
            configuration.curl.ignoresBrokenPipeSignal = false
            let session = URLSession(configuration: configuration)
            raise(SIGPIPE)
            session.invalidateAndCancel()
        }
    }

    @Test("SIGPIPE keeps the program's own handler")
    func ownHandler() async {
        await #expect(processExitsWith: .exitCode(42)) {
            signal(SIGPIPE) { _ in _exit(42) }
            let session = URLSession(configuration: .ephemeral)
            raise(SIGPIPE)
            session.invalidateAndCancel()
        }
    }
}
