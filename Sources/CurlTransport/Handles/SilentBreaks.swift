/// Works around `CurlQuirks.breaksHTTP2Silently`: the sockets from which libcurl may have read what breaks an HTTP/2 connection. Loop only.
///
/// Bytes for one transfer may be followed by what breaks the connection for the others. In the next look at the socket libcurl tells the
/// server, and only then, in another, its transfers. So after it has read from such a socket, it is made to look twice.
///
/// It reads not only when something happens to the socket: it does so when it sends a request or continues a transfer, which its timers have
/// it do, and in those looks, too. So before the loop sleeps, it looks twice at the sockets from which more has been read since it last did,
/// until there are none.
struct SilentBreaks {
    private var suspects: Set<Int32> = []
    private var looks: [Int32: Look] = [:]

    private struct Look {
        let socket: OpenedSocket
        /// How many bytes had been read before it.
        let count: Int64
    }

    var isIdle: Bool { suspects.isEmpty }

    /// Called when libcurl may have read from some of these, or is going to.
    mutating func suspect(_ sockets: Set<Int32>) {
        suspects.formUnion(sockets)
    }

    /// Called when libcurl is about to look twice. It may read then, so the socket is suspect again.
    mutating func looks(at socket: OpenedSocket) {
        // Over Unix domain sockets, this can't be known.
        guard let count = Self.bytesRead(from: socket.number) else { return }
        looks[socket.number] = Look(socket: socket, count: count)
        suspects.insert(socket.number)
    }

    /// Removes and returns the sockets to look at.
    ///
    /// - Parameter keepsAll: Whether libcurl is to run its timers first, and may then read from the others.
    mutating func take(in loop: EventLoop, keepsAll: Bool) -> [Int32] {
        let sockets = suspects.filter { hasRead(from: loop.current($0)) }
        if keepsAll { suspects.subtract(sockets) } else { suspects.removeAll(keepingCapacity: true) }
        return Array(sockets)
    }

    /// Whether libcurl has read since it last looked twice, or may have.
    private func hasRead(from socket: OpenedSocket) -> Bool {
        guard let count = Self.bytesRead(from: socket.number) else { return true }
        guard let look = looks[socket.number], look.socket == socket else { return count > 0 }
        return count != look.count
    }

    /// Too low by the bytes that arrive at this moment: for those, the socket becomes ready.
    private static func bytesRead(from socket: Int32) -> Int64? { CallWatch.bytesRead(from: socket)?.lowerBound }
}
