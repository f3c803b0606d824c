import CLinux
import Glibc

/// What libcurl wants to hear of a socket.
struct SocketInterest: OptionSet {
    let rawValue: UInt32

    static let read = SocketInterest(rawValue: EPOLLIN.rawValue)
    static let write = SocketInterest(rawValue: EPOLLOUT.rawValue)
}

/// One socket that has become ready.
struct ReadySocket {
    var owner: UInt32
    var socket: Int32
    /// `EPOLLIN` and its siblings.
    var readiness: UInt32
}

/// The epoll set of one loop. Loop only, but for `descriptor`, which never changes.
///
/// libcurl closes sockets before, without and after saying so, and the kernel hands out their numbers again at once. So
/// nothing here trusts its own record of a descriptor, with one exception: sockets that were opened and will be closed
/// through this set (`opened`, `close`). libcurl forgets such a socket with the end of each request and asks for it again
/// with the next, and as long as it is the same one, that costs no system call.
struct SocketSet: ~Copyable {
    let descriptor: Int32
    /// The system's errno where it had no descriptor left; then the set stays empty.
    let failure: SystemError?
    private let events: UnsafeMutableBufferPointer<epoll_event>
    /// By descriptor.
    private var records: [Record] = []

    private struct Record {
        /// What the kernel was told to watch for; empty: it doesn't watch.
        var registered: SocketInterest = []
        var isWanted = false
        /// It can't be closed without our knowing.
        var isOurs = false
    }

    init() {
        descriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
        failure = descriptor < 0 ? SystemError.current : nil
        events = .allocate(capacity: 128)
        events.initialize(repeating: epoll_event())
    }

    deinit {
        events.deallocate()
        if descriptor >= 0 { Glibc.close(descriptor) }
    }

    // MARK: - Sockets

    /// `socket` was just opened, and will be closed with `close`.
    mutating func opened(_ socket: Int32) {
        makeRecord(for: socket)
        records[Int(socket)] = Record(isOurs: true)
    }

    mutating func close(_ socket: Int32) {
        makeRecord(for: socket)
        if !records[Int(socket)].registered.isEmpty { remove(socket) }
        records[Int(socket)] = Record()
        Glibc.close(socket)
    }

    /// Watches `socket` for `interest`; `owner` comes back with each of its events.
    mutating func watch(_ socket: Int32, for interest: SocketInterest, owner: UInt32) {
        makeRecord(for: socket)
        let record = records[Int(socket)]
        records[Int(socket)] = Record(registered: interest, isWanted: true, isOurs: record.isOurs)
        if record.isOurs, record.registered == interest { return }
        var event = epoll_event()
        event.events = interest.rawValue
        event.data.u64 = UInt64(owner) << 32 | UInt64(UInt32(bitPattern: socket))
        let operation = record.registered.isEmpty ? EPOLL_CTL_ADD : EPOLL_CTL_MOD
        if epoll_ctl(descriptor, operation, socket, &event) == 0 { return }
        // The record was of another socket, closed long ago, or still is of one that the kernel watches.
        _ = epoll_ctl(descriptor, errno == ENOENT ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, socket, &event)
    }

    mutating func unwatch(_ socket: Int32) {
        makeRecord(for: socket)
        guard records[Int(socket)].isWanted else { return }
        records[Int(socket)].isWanted = false
        // One of ours stays registered until it is wanted again, or something happens to it.
        if !records[Int(socket)].isOurs { remove(socket) }
    }

    private mutating func remove(_ socket: Int32) {
        var event = epoll_event()
        _ = epoll_ctl(descriptor, EPOLL_CTL_DEL, socket, &event)
        records[Int(socket)].registered = []
    }

    private mutating func makeRecord(for socket: Int32) {
        precondition(socket >= 0, "not a descriptor")
        guard Int(socket) >= records.count else { return }
        records.append(contentsOf: repeatElement(Record(), count: Int(socket) + 64 - records.count))
    }

    // MARK: - Events

    /// Fetches the events that are there, or the first to come within `milliseconds`, and returns how many; see
    /// `readySocket(at:)`.
    func poll(waitingFor milliseconds: Int32 = 0) -> Int {
        max(0, Int(epoll_wait(descriptor, events.baseAddress, Int32(events.count), milliseconds)))
    }

    /// nil where nobody waits for the event.
    mutating func readySocket(at index: Int) -> ReadySocket? {
        let event = events[index]
        let socket = Int32(bitPattern: UInt32(truncatingIfNeeded: event.data.u64))
        guard records[Int(socket)].isWanted else {
            remove(socket)
            return nil
        }
        return ReadySocket(owner: UInt32(event.data.u64 >> 32), socket: socket, readiness: event.events)
    }
}
