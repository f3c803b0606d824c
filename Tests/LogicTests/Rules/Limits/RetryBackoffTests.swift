import Testing

@testable import CurlNetworking

@Suite("The delay before the next try")
struct RetryBackoffTests {
    @Test("The delay doubles up to its bound, and stays there")
    func growth() {
        var backoff = RetryBackoff()
        let expected: [Double] = [0.5, 1, 2, 4, 8, 16, 32, 60, 60]
        for seconds in expected { #expect(backoff.delay(jitter: 0) == .seconds(seconds)) }
    }

    @Test("However often it fails, the delay is neither longer nor shorter than its bounds", arguments: [0, 0.3, 1])
    func bounds(jitter: Double) {
        var backoff = RetryBackoff()
        for _ in 0..<10_000 {
            let delay = backoff.delay(jitter: jitter)
            #expect(delay >= RetryBackoff.shortest * 0.75 && delay <= RetryBackoff.longest)
        }
    }

    @Test("Chance makes the delay up to a quarter shorter, and never longer")
    func jitter() {
        var (one, other) = (RetryBackoff(), RetryBackoff())
        #expect(one.delay(jitter: 1) == .milliseconds(375))
        #expect(other.delay(jitter: 0.5) == .microseconds(437_500))
        #expect(one.delay(jitter: 7) == .milliseconds(750))
    }

    @Test("The delay begins anew after a reset")
    func reset() {
        var backoff = RetryBackoff()
        for _ in 0..<5 { _ = backoff.delay(jitter: 0) }
        backoff.reset()
        #expect(backoff.delay(jitter: 0) == .milliseconds(500))
    }

    @Test("Coming further than ever is reason to hope; beginning anew and coming no further is none")
    func progress() {
        var backoff = RetryBackoff()
        for position in [Int64(100_000), 200_000, .max] {
            for _ in 0..<5 { _ = backoff.delay(jitter: 0) }
            backoff.noteProgress(to: position)
            #expect(backoff.failures == 0)
        }
        _ = backoff.delay(jitter: 0)
        for position in [Int64.min, 0, 5, 100_000, .max] { backoff.noteProgress(to: position) }
        #expect(backoff.delay(jitter: 0) == .seconds(1))
    }

    @Test("A byte more each time is no reason to hope")
    func slowProgress() {
        var backoff = RetryBackoff()
        for position in 1..<RetryBackoff.minimumProgress {
            _ = backoff.delay(jitter: 0)
            backoff.noteProgress(to: position)
        }
        #expect(backoff.delay(jitter: 0) == RetryBackoff.longest)
        backoff.noteProgress(to: RetryBackoff.minimumProgress)
        #expect(backoff.failures == 0)
    }
}
