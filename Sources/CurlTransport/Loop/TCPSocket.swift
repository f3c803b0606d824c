import Glibc

/// What Linux knows about a socket that libcurl reads from.
package enum TCPSocket {
    /// How long ago bytes last arrived, whether or not they have been read; too short by at most `tick`. nil if it isn't a TCP socket, or
    /// the system doesn't say.
    static func timeSinceArrival(at socket: Int32) -> Duration? {
        info(of: socket).map { .milliseconds($0.tcpi_last_data_recv) }
    }

    /// How long ago bytes last arrived, or the system last sent some, which it may have been given much earlier. Those that it merely sends
    /// again don't count. Too short by at most `tick`; nil as above.
    package static func timeSinceTraffic(at socket: Int32) -> Duration? {
        info(of: socket).map { info in
            let sent = info.tcpi_retransmits == 0 ? info.tcpi_last_data_sent : .max
            return .milliseconds(min(sent, info.tcpi_last_data_recv))
        }
    }

    /// Whether the other side's system hasn't acknowledged sent bytes, even after a retransmission.
    static func isUnacknowledged(_ socket: Int32) -> Bool {
        info(of: socket).map { $0.tcpi_unacked > 0 && $0.tcpi_retransmits > 0 } ?? false
    }

    /// Whether either side has announced that it sends no more.
    static func hasEnded(_ socket: Int32) -> Bool {
        info(of: socket).map { $0.tcpi_state != UInt8(TCP_ESTABLISHED) } ?? false
    }

    /// Shuts the connection down: libcurl finds it closed once all input has been read, and its transfers end. Any thread.
    ///
    /// The only place that names this constant: next to a file that also sees it through another module, the compiler may not find it.
    static func shutDown(_ socket: Int32) {
        shutdown(socket, Int32(SHUT_RDWR))
    }

    /// How many bytes have arrived, whether or not they have been read; the end counts as one. nil if it isn't a TCP
    /// socket. Any thread.
    static func bytesReceived(by socket: Int32) -> Int64? {
        // Linux's `tcp_info` has grown, and the C library declares an old one: this is `tcpi_bytes_received`.
        let offset = 128
        return withUnsafeTemporaryAllocation(byteCount: 256, alignment: 8) { info in
            var length = socklen_t(info.count)
            guard getsockopt(socket, Int32(IPPROTO_TCP), TCP_INFO, info.baseAddress, &length) == 0,
                Int(length) >= offset + MemoryLayout<Int64>.size
            else { return nil }
            return info.load(fromByteOffset: offset, as: Int64.self)
        }
    }

    private static func info(of socket: Int32) -> tcp_info? {
        var info = tcp_info()
        var length = socklen_t(MemoryLayout<tcp_info>.size)
        guard getsockopt(socket, Int32(IPPROTO_TCP), TCP_INFO, &info, &length) == 0 else { return nil }
        // A sandbox with its own network stack may fill in next to nothing.
        return info.tcpi_rcv_mss > 0 ? info : nil
    }

    /// The unit in which the kernel measures that time.
    package static let tick = Duration.milliseconds(10)
}
