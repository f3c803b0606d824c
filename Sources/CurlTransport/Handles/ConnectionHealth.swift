import Glibc

/// What the system knows of an open TCP connection.
struct ConnectionHealth {
    /// How long ago something has come; since the connection was made, if nothing has.
    let silence: Duration
    /// Whether the other side's system doesn't acknowledge what was sent, though it was sent again.
    let isUnacknowledged: Bool

    /// nil for another kind of socket.
    init?(of socket: Int32) {
        var info = tcp_info()
        var length = socklen_t(MemoryLayout<tcp_info>.size)
        guard getsockopt(socket, Int32(IPPROTO_TCP), TCP_INFO, &info, &length) == 0 else { return nil }
        silence = .milliseconds(Int64(info.tcpi_last_data_recv))
        isUnacknowledged = info.tcpi_unacked > 0 && info.tcpi_retransmits > 0
    }
}
