import Testing

@testable import CurlTransport

@Suite("Reading for answered uploads over HTTP/2")
struct HTTP2InputStateTests {
    /// How often libcurl is made to read while it writes again and again.
    private static func reads(_ input: inout HTTP2InputState, writes: Int) -> Int {
        (0..<writes).reduce(into: 0) { reads, _ in
            if !input.wasReadFor {
                input.noteRead()
                reads += 1
            }
            if input.mayBeReadForAgain { input.wrote() }
        }
    }

    @Test("Input is read after each of a few writes, and no more for those of others, which may write for hours")
    func writes() {
        var input = HTTP2InputState()
        input.bodyEnded()
        let few = Self.reads(&input, writes: 2)
        let all = Self.reads(&input, writes: 1000)
        #expect(few == 2)
        #expect(few + all == HTTP2InputState.maximumReads)
    }

    @Test("Input is read as often again when the body ends again, or is sent again")
    func again() {
        var input = HTTP2InputState()
        input.bodyEnded()
        var reads = [Self.reads(&input, writes: 1000)]
        input.bodyEnded()
        reads.append(Self.reads(&input, writes: 1000))
        input.rewound()
        reads.append(Self.reads(&input, writes: 1000))
        #expect(reads == Array(repeating: HTTP2InputState.maximumReads, count: 3))
    }
}
