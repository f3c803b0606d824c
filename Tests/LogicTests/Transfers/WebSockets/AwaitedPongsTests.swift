import Testing

@testable import CurlNetworking

@Suite("The pongs that web sockets wait for")
struct AwaitedPongsTests {
    @Test("A pong answers its ping and those before it, once")
    func order() {
        var pongs = AwaitedPongs<String>()
        let payloads = ["a", "b", "c", "d"].map { pongs.append($0) }
        #expect(Set(payloads).count == 4)
        #expect(pongs.answered(by: payloads[1]) == ["a", "b"])
        #expect(pongs.answered(by: payloads[1]) == [])
        #expect(pongs.answered(by: payloads[0]) == [])
        #expect(pongs.answered(by: payloads[2]) == ["c"])
        let last = pongs.append("e")
        #expect(pongs.answered(by: last) == ["d", "e"])
        #expect(pongs.removeAll() == [])
    }

    @Test(
        "An unsolicited pong answers no ping",
        arguments: [[], [0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 3], [1, 0, 0, 1]] as [[UInt8]]
    )
    func unasked(payload: [UInt8]) {
        var pongs = AwaitedPongs<String>()
        _ = (pongs.append("a"), pongs.append("b"))
        #expect(pongs.answered(by: payload) == [])
        #expect(pongs.removeAll() == ["a", "b"])
    }
}
