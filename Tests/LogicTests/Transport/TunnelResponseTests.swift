import Testing

@testable import CurlTransport

@Suite("A proxy's response to CONNECT, byte by byte")
struct TunnelResponseTests {
    /// Whether the transfer may go on after each of this many reports within one call into libcurl.
    private static func progress(_ response: inout TunnelResponse, _ count: Int, at place: UInt64) -> Bool {
        (0..<count).allSatisfy { _ in response.progressed(at: place) }
    }

    @Test("Only so much of a proxy's response may come within one call into libcurl")
    func limit() {
        var response = TunnelResponse()
        let mayGoOn = Self.progress(&response, TunnelResponse.maximumBytes, at: 1)
        #expect(mayGoOn && !response.isTooLarge)
        let mayGoOnAfterIt = response.progressed(at: 1)
        #expect(!mayGoOnAfterIt && response.isTooLarge)
        let isForgiven = response.progressed(at: 3)
        #expect(!isForgiven && response.isTooLarge)
    }

    @Test("Each call counts from the beginning")
    func calls() {
        var response = TunnelResponse()
        for place in [1, 3, 5] as [UInt64] {
            let mayGoOn = Self.progress(&response, TunnelResponse.maximumBytes, at: place)
            #expect(mayGoOn)
        }
        #expect(!response.isTooLarge)
    }
}
