import CurlTransport

/// When bytes last moved in either direction, and libcurl's count at that time.
struct ActivityClock {
    var last: MonotonicTime
    var bytesMoved: Int64 = 0
    private var holds: (receiving: RateHold, sending: RateHold)?

    init(last: MonotonicTime) {
        self.last = last
    }

    /// From when on the transfer counts as idle: not while libcurl may be waiting.
    var idleStart: MonotonicTime {
        guard let holds else { return last }
        return max(last, holds.receiving.end ?? last, holds.sending.end ?? last)
    }

    /// Notes that libcurl may have to wait after what has moved of the bodies, to keep to those rates.
    mutating func noteMoved(_ bodies: (received: Int64, sent: Int64), at rates: MaximumRates, now: MonotonicTime) {
        var holds = holds ?? (RateHold(), RateHold())
        holds.receiving.note(bodies.received, at: rates.receiving, now: now)
        holds.sending.note(bodies.sent, at: rates.sending, now: now)
        self.holds = holds
    }

    /// Whether the system has received or sent bytes since, on a connection that only this transfer uses.
    mutating func noteTraffic(at socket: Int32?, now: MonotonicTime) -> Bool {
        guard let age = socket.flatMap(TCPSocket.timeSinceTraffic) else { return false }
        guard age + TCPSocket.tick < now - last else { return false }
        last = now + (.zero - age)
        return true
    }
}
