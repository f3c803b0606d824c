import Testing

@testable import CurlTransport

@Suite("Resets that libcurl holds back")
struct HeldResetsTests {
    private static let connections = [Int32(4), 5].map {
        HeldResets.Connection(socket: OpenedSocket(number: $0, opening: Int($0)), localPort: 50_000 + Int($0))
    }

    @Test("A connection waits once, until a request goes out on it, or it is looked at")
    func waiting() {
        var resets = HeldResets(deadline: Deadline {})
        for connection in Self.connections + Self.connections { resets.add(connection) }
        resets.requestGoesOut(fromPort: 50_004)
        let (taken, left) = (resets.take(), resets.take())
        #expect(taken.map(\.socket) == [Self.connections[1].socket])
        #expect(left.isEmpty)
    }
}
