import CurlNetworkingLocks
import Dispatch
import Glibc
import struct Synchronization.Atomic
import protocol Synchronization.AtomicRepresentable

/// Ends a call into libcurl that doesn't return because a peer keeps it busy.
///
/// Some loops within libcurl and OpenSSL end only when nothing is left to read, and make no callbacks: those that read HTTP/2 frames
/// without content, or session tickets. A peer that sends fast enough traps the event loop there, out of reach of its defences against
/// hostile peers: time-outs, cancellation, other tasks' turns.
///
/// So another queue looks at the loop, ten times a second while it is busy. If calls have lasted for three of the last ten
/// seconds, and have read from a connection throughout without passing the bytes on, that connection is hung up, and libcurl
/// finds it closed. If the cause is a slow disk, a debugger or a starved machine, nothing is read meanwhile, or the bytes
/// are passed on. An idle loop isn't looked at.
///
/// Connections over Unix domain sockets are left alone, since the system doesn't say how much was read from them.
final class CallWatch: Sendable {
    // MARK: Written by the loop

    /// Counts the calls into libcurl and their ends, so it is odd within libcurl.
    private let place = Atomic<UInt64>(0)
    /// How many bytes libcurl has passed on, or has taken to send: a server acknowledges those with frames.
    private let passed = Atomic<Int64>(0)

    // MARK: Any thread

    private let phase = Atomic(Phase.off)
    private let records = Mutex(Records())

    private enum Phase: UInt8, AtomicRepresentable {
        /// The loop isn't watched.
        case off
        /// The next look is coming, and libcurl was called since the last one.
        case looking
        /// The next look is coming, and libcurl hasn't been called since the last one.
        case ending
    }

    private struct Records {
        /// The open sockets from which only libcurl reads.
        var sockets: Set<Int32> = []
        var suspicion = CallSuspicion()
    }

    /// Dispatch has a limited number of threads for each QoS class: this class isn't the loops'.
    private static let queue = DispatchQueue(label: "CurlNetworking.watch", qos: .userInteractive)

    // MARK: - The loop

    /// Makes a call into libcurl that may read from sockets.
    @inline(__always)
    func within<Result>(_ call: () -> Result) -> Result {
        advance()
        defer { advance() }
        if phase.load(ordering: .relaxed) != .looking { startLooking() }
        return call()
    }

    /// Called when libcurl has passed on received bytes, or has taken bytes to send. Within libcurl.
    func notePassed(_ count: Int) {
        passed.store(passed.load(ordering: .relaxed) &+ Int64(count), ordering: .relaxed)
    }

    /// A different value for each call into libcurl.
    var currentPlace: UInt64 { place.load(ordering: .relaxed) }

    /// Only the loop writes, so this needn't be one operation.
    private func advance() {
        place.store(currentPlace &+ 1, ordering: .releasing)
    }

    static func isWithinLibcurl(_ place: UInt64) -> Bool { place & 1 == 1 }

    /// Called when `socket` was just opened; it will be closed after `leaves`.
    func opened(_ socket: Int32) {
        records.withLock { _ = $0.sockets.insert(socket) }
    }

    /// Called when `socket` is about to be closed, and its number may become another's, or is also to be read from outside libcurl. Waits
    /// for a look in progress, which is brief.
    func leaves(_ socket: Int32) {
        records.withLock { records in
            records.sockets.remove(socket)
            records.suspicion.forget(socket)
        }
    }

    // MARK: - The looks

    private func startLooking() {
        if phase.exchange(.looking, ordering: .acquiringAndReleasing) == .off { lookLater() }
    }

    private static let interval = DispatchTimeInterval.milliseconds(
        Int(CallSuspicion.interval / .milliseconds(1))
    )

    private func lookLater() {
        Self.queue.asyncAfter(deadline: .now() + Self.interval) { self.look() }
    }

    private func look() {
        let place = place.load(ordering: .acquiring)
        records.withLock { records in
            let sockets = records.sockets
            let passed = passed.load(ordering: .relaxed)
            let culprits = records.suspicion.look(at: place, now: .now, passed: passed) {
                sockets.reduce(into: [:]) { $0[$1] = Self.bytesRead(from: $1) }
            }
            // With the lock, so that none is closed meanwhile. Bytes that have arrived can still be read, but no more arrive. Draining them
            // would tear out pieces that libcurl wouldn't miss.
            for socket in culprits { TCPSocket.shutDown(socket) }
        }
        switch phase.load(ordering: .acquiring) {
        case .ending where !Self.isWithinLibcurl(place):
            // If it isn't `.ending` any more, libcurl has just been called.
            if phase.compareExchange(expected: .ending, desired: .off, ordering: .acquiringAndReleasing).exchanged {
                return
            }
        case .looking:
            _ = phase.compareExchange(expected: .looking, desired: .ending, ordering: .acquiringAndReleasing)
        case .ending, .off:
            break
        }
        lookLater()
    }

    /// How many bytes have been read from `socket`, between these bounds. nil if it isn't a TCP socket.
    static func bytesRead(from socket: Int32) -> ClosedRange<Int64>? {
        var unread: Int32 = 0
        // Bytes that arrive between the calls are in one figure and not in the other.
        guard let before = TCPSocket.bytesReceived(by: socket), ioctl(socket, UInt(FIONREAD), &unread) == 0,
            let after = TCPSocket.bytesReceived(by: socket)
        else { return nil }
        return before - Int64(unread)...max(before, after) - Int64(unread)
    }
}
