import Foundation
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("The failures of a background task's attempts")
struct AttemptFailuresTests {
    @Test("A failure of the network is followed by another attempt, and a server's refusal isn't")
    func retried() {
        var failures = AttemptFailures()
        let isRetried = [URLError.Code.networkConnectionLost, .badServerResponse].map { code in
            failures.mayRetry(after: URLError(code), nil, 0)
        }
        #expect(isRetried == [true, false])
    }

    @Test("A task that runs out of time says how its last attempt failed")
    func timedOut() throws {
        let url = try #require(URL(string: "http://example.com/"))
        var failures = AttemptFailures()
        #expect(failures.timedOut(url).userInfo[NSUnderlyingErrorKey] == nil)
        failures.last = URLError(.cannotConnectToHost)
        let error = failures.timedOut(url)
        #expect(error.code == .timedOut && error.failingURL == url)
        #expect((error.userInfo[NSUnderlyingErrorKey] as? URLError)?.code == .cannotConnectToHost)
    }
}

@Suite("The progress of a background task in the agent")
struct TaskProgressTests {
    @Test("Bytes that are sent again don't count again, and a body sent from its beginning starts over")
    func sent() {
        var progress = TaskProgress(key: UUID())
        progress.noteSent(60, total: 100, of: 200, continuesUpload: true)
        #expect(progress.sentEarlier == 40 && progress.counters.requests == 0)
        progress.noteSent(10, total: 90, of: 200, continuesUpload: true)
        #expect(progress.counters.sent == 100 && progress.sentEarlier == 40)
        progress.noteSent(20, total: 20, of: 200, continuesUpload: true)
        #expect(progress.counters.sent == 20 && progress.counters.requests == 1)
    }

    @Test("A download whose file starts over counts that")
    func received() {
        var progress = TaskProgress(key: UUID())
        progress.noteReceived(50, total: 50, of: 100)
        progress.noteReceived(50, total: 100, of: 100)
        #expect(progress.counters.restarts == 0)
        progress.noteReceived(10, total: 10, of: 100)
        #expect(progress.counters.restarts == 1 && progress.counters.received == 10)
    }
}
