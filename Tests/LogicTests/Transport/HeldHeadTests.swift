import Testing

@testable import CurlTransport

@Suite("Heads of paused transfers")
struct HeldHeadTests {
    @Test("A handle without a connection of HTTP/2 leaves the heads of paused transfers to libcurl")
    func notShared() throws {
        let easy = try #require(EasyHandle())
        #expect(HeldHead(for: easy) == nil)
        #expect(Self.hold(100, by: TransferPause()) == .pause)
    }

    @Test("A held head that is larger than any handler accepts ends the transfer")
    func endless() throws {
        let easy = try #require(EasyHandle())
        easy.sharing.priorKnowledge = .begins
        let pause = TransferPause(head: HeldHead(for: easy))
        for _ in 0..<8 {
            #expect(Self.hold(HeldHead.maximumCount / 8, by: pause) == .accepted)
        }
        #expect(Self.hold(1, by: pause) == .abort)
    }

    private static func hold(_ count: Int, by pause: TransferPause) -> ReceiveVerdict {
        [UInt8](repeating: 0x61, count: count).withUnsafeBytes { pause.hold($0) }
    }
}
