import CurlTransport

/// When bytes last moved in either direction, and libcurl's count at that time.
struct ActivityClock {
    var last: MonotonicTime
    var bytesMoved: Int64 = 0

    /// Whether bytes have arrived since, on a connection that only this transfer uses.
    mutating func noteArrival(at socket: Int32?, now: MonotonicTime) -> Bool {
        guard let age = socket.flatMap(TCPSocket.timeSinceArrival) else { return false }
        guard age + TCPSocket.tick < now - last else { return false }
        last = now + (.zero - age)
        return true
    }
}
