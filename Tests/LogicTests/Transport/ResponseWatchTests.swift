import Testing

@testable import CurlTransport

@Suite("The first bytes of a response")
struct ResponseWatchTests {
    @Test(
        "A response has begun if more has come than the connection's end, which the system may count as a byte",
        arguments: [(0, false), (1, false), (2, true), (1000, true)] as [(Int64, Bool)]
    )
    func counting(arrived: Int64, hasHeard: Bool) {
        let watch = ResponseWatch()
        #expect(!watch.hasHeard)
        watch.connectionEnds(before: 5000, after: 5000 + arrived)
        #expect(watch.hasHeard == hasHeard)
    }
}
