/// Works around `CurlQuirks.holdsResetsBack`: the connections on which libcurl may hold a stream's reset back. Loop only.
///
/// Without the reset, the server goes on with a response that nobody reads, perhaps for as long as the connection is kept. The next request
/// on the connection takes the reset along, so for a moment nothing is done. If no request comes, a transfer that shares the connection is
/// made to send the reset; without such a transfer libcurl can't, and the connection is hung up.
struct HeldResets {
    private var connections: [Connection] = []
    /// When they are looked at.
    let deadline: Deadline

    struct Connection {
        let socket: OpenedSocket
        let localPort: Int
    }

    /// How long a request may take to come that takes the reset along.
    static let patience = Duration.seconds(1)

    init(deadline: Deadline) {
        self.deadline = deadline
    }

    /// Called when a transfer that had this connection has left before its end.
    mutating func add(_ connection: Connection) {
        if !connections.contains(where: { $0.socket == connection.socket }) { connections.append(connection) }
    }

    /// Called when a request goes out from `localPort`. Within libcurl.
    mutating func requestGoesOut(fromPort localPort: Int) {
        if !connections.isEmpty { connections.removeAll { $0.localPort == localPort } }
    }

    /// Removes and returns the connections.
    mutating func take() -> [Connection] {
        defer { connections = [] }
        return connections
    }
}
