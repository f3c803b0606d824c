import Testing

@testable import CurlNetworking

@Suite("Bodies of tiny pieces")
struct TinyPiecesTests {
    @Test("After so many tiny pieces in a turn the rest has to wait for the next turn, whatever its size")
    func limit() {
        var pieces = TinyPieces()
        for _ in 0..<3 {
            let taken = (0..<2 * TinyPieces.maximumCount).count { _ in pieces.take(1) }
            #expect(taken == TinyPieces.maximumCount)
            let large = pieces.take(16_384)
            #expect(!large)
            let hasRest = pieces.endTurn()
            #expect(hasRest)
        }
    }

    @Test("Larger pieces never wait")
    func larger() {
        var pieces = TinyPieces()
        let taken = (0..<10 * TinyPieces.maximumCount).count { _ in pieces.take(TinyPieces.maximumSize + 1) }
        #expect(taken == 10 * TinyPieces.maximumCount)
        let hasRest = pieces.endTurn()
        #expect(!hasRest)
    }
}
