import Testing

@testable import CurlTransport

@Suite("What has been decided about a host's certificates")
struct HandshakeDecisionsTests {
    private var decisions = HandshakeDecisions()

    @Test("A decision is about a whole chain of certificates, in their order")
    mutating func chains() {
        #expect(decisions.trust(in: [[1, 2], [3]]) == nil)
        decisions.note(.ifVerified, in: [[1, 2], [3]])
        decisions.note(.always, in: [[]])
        #expect(decisions.trust(in: [[1, 2], [3]]) == .ifVerified)
        #expect(decisions.trust(in: [[]]) == .always)
        let others: [[[UInt8]]] = [[], [[1, 2]], [[1, 2, 3]], [[1], [2, 3]], [[3], [1, 2]], [[1, 2], [3], []]]
        for other in others { #expect(decisions.trust(in: other) == nil, "\(other)") }
    }

    @Test("A chain that was accepted whatever verification says remains so")
    mutating func always() {
        for trust in [HandshakeDecisions.Trust.ifVerified, .always, .ifVerified] { decisions.note(trust, in: [[1]]) }
        #expect(decisions.trust(in: [[1]]) == .always)
    }

    @Test("A host with a new chain each time is asked about its oldest again")
    mutating func bounded() {
        for number in UInt8(0)...16 { decisions.note(.ifVerified, in: [[number]]) }
        let known = (UInt8(0)...16).filter { decisions.trust(in: [[$0]]) != nil }
        #expect(known == Array(1...16))
    }

    @Test("A chain takes the room of its digest, however long it is")
    func room() throws {
        #expect(MemoryLayout<ChainDigest>.size == DigestFunctions.length)
        let long = try #require(ChainDigest([[UInt8](repeating: 1, count: 88_000)]))
        #expect(long != ChainDigest([[UInt8](repeating: 1, count: 88_001)]))
    }
}
