import Testing

@testable import CurlTransport

@Suite("A proxy's answer to CONNECT, byte by byte")
struct TunnelAnswerTests {
    /// Whether the transfer may go on after each of this many reports within one call into libcurl.
    private static func progress(_ answer: inout TunnelAnswer, _ count: Int, at place: UInt64) -> Bool {
        (0..<count).allSatisfy { _ in answer.progressed(at: place) }
    }

    @Test("Only so much of a proxy's answer may come within one call into libcurl")
    func limit() {
        var answer = TunnelAnswer()
        let mayGoOn = Self.progress(&answer, TunnelAnswer.maximumBytes, at: 1)
        #expect(mayGoOn && !answer.isTooLarge)
        let mayGoOnAfterIt = answer.progressed(at: 1)
        #expect(!mayGoOnAfterIt && answer.isTooLarge)
        let isForgiven = answer.progressed(at: 3)
        #expect(!isForgiven && answer.isTooLarge)
    }

    @Test("Each call counts from the beginning")
    func calls() {
        var answer = TunnelAnswer()
        for place in [1, 3, 5] as [UInt64] {
            let mayGoOn = Self.progress(&answer, TunnelAnswer.maximumBytes, at: place)
            #expect(mayGoOn)
        }
        #expect(!answer.isTooLarge)
    }
}
