import Testing

@testable import CurlTransport

@Suite("Resets that libcurl holds back")
struct HeldResetsTests {
    private static let start = MonotonicTime(nanoseconds: 0)
    private static let connections = [Int32(4), 5, 6].map {
        HeldResets.Connection(
            socket: OpenedSocket(number: $0, opening: Int($0)),
            localPort: 50_000 + Int($0),
            due: start + .seconds(Int($0))
        )
    }

    @Test("A connection waits once, until a request goes out on it, or it is due")
    func waiting() {
        var resets = HeldResets(deadline: Deadline {})
        for connection in Self.connections + Self.connections { resets.add(connection) }
        resets.requestGoesOut(fromPort: 50_004)
        let taken = [4, 5, 6, 7].map { resets.take(at: Self.start + .seconds($0)).map(\.socket.number) }
        #expect(taken == [[], [5], [6], []])
    }
}
