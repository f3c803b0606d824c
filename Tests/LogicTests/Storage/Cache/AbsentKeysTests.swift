import CurlTransport
import Testing

@testable import CurlNetworking

@Suite("Keys that weren't found in a cache")
struct AbsentKeysTests {
    @Test("A key is absent until it is stored, or others may have stored it")
    func epochs() {
        var keys = AbsentKeys()
        let start = MonotonicTime.now
        for key in ["a", "b"] { keys.insert(key) }
        keys.remove("a")
        #expect(!keys.contains("a") && keys.contains("b"))
        let begins = [keys.beginEpoch(at: start), keys.beginEpoch(at: start + .seconds(2))]
        #expect(begins == [false, true])
        #expect(!keys.contains("b"))
    }

    @Test("Beyond ten thousand, no more keys are remembered")
    func limit() {
        var keys = AbsentKeys()
        for number in 0...10_000 { keys.insert("\(number)") }
        #expect(keys.contains("9999") && !keys.contains("10000"))
    }
}
