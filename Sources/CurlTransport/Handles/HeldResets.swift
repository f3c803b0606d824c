/// Works around `CurlQuirks.holdsResetsBack`: the connections on which libcurl may hold a stream's reset back. Loop only.
///
/// Without the reset, the server goes on with a response that nobody reads, perhaps for as long as the connection is kept. The next request
/// on the connection takes the reset along, so for a moment nothing is done. If no request comes, a transfer that shares the connection is
/// made to send the reset; without such a transfer libcurl can't, and the connection is hung up.
struct HeldResets {
    /// In the order in which they are due.
    private var connections: [Connection] = []
    /// Has those looked at that are due.
    let deadline: Deadline

    struct Connection {
        let socket: OpenedSocket
        let localPort: Int
        /// When nothing is waited for any more.
        let due: MonotonicTime
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

    /// Removes and returns the connections that are due.
    mutating func take(at now: MonotonicTime) -> [Connection] {
        let due = connections.prefix { $0.due <= now }
        connections.removeFirst(due.count)
        return Array(due)
    }

    /// Sets the deadline, unless it is set.
    func arm(on loop: EventLoop) {
        if let first = connections.first, !deadline.isScheduled { loop.schedule(deadline, at: first.due) }
    }
}
