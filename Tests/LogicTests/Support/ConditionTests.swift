import Testing

@testable import CurlNetworking

@Suite("A condition", .timeLimit(.minutes(1)))
struct ConditionTests {
    @Test("A wait whose time is up ends without a signal")
    func timeout() {
        let condition = Condition()
        condition.lock()
        // It may also end for no reason.
        while condition.wait(until: Condition.end(ofWaiting: 0)) {}
        condition.unlock()
    }

    @Test("A signal ends the wait of another thread, which had released the lock")
    func signal() {
        let condition = Condition()
        nonisolated(unsafe) var isReady = false
        condition.lock()
        WorkThreads.blocking.run {
            condition.withLock { isReady = true }
            condition.signal()
        }
        let end = Condition.end(ofWaiting: 30)
        while !isReady, condition.wait(until: end) {}
        #expect(isReady)
        condition.unlock()
    }
}
