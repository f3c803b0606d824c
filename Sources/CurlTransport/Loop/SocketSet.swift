import CCurlNetworkingLinux
import Glibc

/// The events libcurl wants to hear about for a socket.
struct SocketInterest: OptionSet {
    let rawValue: UInt32

    static let read = SocketInterest(rawValue: EPOLLIN.rawValue)
    static let write = SocketInterest(rawValue: EPOLLOUT.rawValue)
    /// The peer has shut down its end.
    static let end = SocketInterest(rawValue: EPOLLRDHUP.rawValue)
    /// Each event is reported once, however long the descriptor stays ready.
    static let edge = SocketInterest(rawValue: EPOLLET.rawValue)
}

/// A socket with an event that its owner asked to hear about.
struct ReadySocket {
    /// Its number in `DescriptorOwners`.
    var owner: UInt32
    var socket: Int32
    /// `EPOLLIN` and its siblings.
    var readiness: UInt32
}

/// What a server may send on a connection while no request is in progress.
enum IdleTraffic {
    /// Nothing: it would be taken for the next request's response. HTTP/1, FTP.
    case nothing
    /// The protocol's own frames, which libcurl processes before the next request. HTTP/2.
    case frames
}

/// The epoll set of one loop. Loop only, except for `descriptor`, which never changes.
///
/// libcurl closes sockets before, without and after saying so, and the kernel reuses their numbers at once. So nothing here trusts its own
/// record of a descriptor, with one exception: sockets that were opened and will be closed through this set (`opened`, `close`). libcurl
/// drops such a socket at the end of each request and asks for it again with the next; while it is the same socket, that costs no system
/// call.
///
/// Between requests the set keeps watching those sockets: a connection on which something arrives then is hung up (see `IdleTraffic`).
struct SocketSet: ~Copyable {
    let descriptor: Int32
    /// The errno if the system was out of descriptors; then the set stays empty.
    let failure: SystemError?
    private let events: UnsafeMutableBufferPointer<epoll_event>
    /// The most events that one poll finds.
    static let maximumEvents = 128
    /// By descriptor.
    private var records: [Record] = []
    /// Our idle sockets, by local port; 0 if they aren't IP.
    private var socketsByPort: [Int: [Int32]] = [:]
    /// How many sockets were opened through this set.
    private var openings = 0
    /// The sockets whose writes may rest.
    private var resting: [Int32] = []

    private struct Record {
        enum Use {
            /// libcurl isn't asking for it: it never has, the transfer is paused, or it has dropped the socket.
            case none
            case wanted
            /// libcurl keeps its connection for another request.
            case idle(IdleTraffic)
            /// Hung up; libcurl has yet to notice and close it.
            case dead
        }

        /// The events registered with the kernel; empty if unregistered.
        var registered: SocketInterest = []
        var use = Use.none
        /// Whether it is opened and closed through this set.
        var isOurs = false
        /// See `OpenedSocket`.
        var opening = 0
        /// The owner that asked for it last; nil if none has yet.
        var owner: UInt32?
        /// The transfer for which the owner asked, if known.
        var asker: ObjectIdentifier?
        /// Its key in `socketsByPort`.
        var localPort: Int?
        var writes = WriteProgress()
        /// The interest to restore after a rest; nil while the socket is watched for all that libcurl wants.
        var interestAfterRest: SocketInterest?

        var isWanted: Bool { if case .wanted = use { true } else { false } }
        /// Whether nothing may arrive until the next request.
        var isToBeSilent: Bool { if case .idle(.nothing) = use { true } else { false } }
        /// Whether it is ours, has been used, and isn't hung up.
        var isConnection: Bool {
            if case .dead = use { return false }
            return isOurs && owner != nil
        }
    }

    init() {
        descriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
        failure = descriptor < 0 ? SystemError.current : nil
        events = .allocate(capacity: Self.maximumEvents)
        events.initialize(repeating: epoll_event())
    }

    deinit {
        events.deallocate()
        if descriptor >= 0 { Glibc.close(descriptor) }
    }

    // MARK: - Sockets

    /// Called when `socket` was just opened; it will be closed with `close`.
    mutating func opened(_ socket: Int32) {
        guard makeRecord(for: socket) else { return }
        openings += 1
        records[Int(socket)] = Record(isOurs: true, opening: openings)
    }

    /// The socket that has this number now.
    func current(_ number: Int32) -> OpenedSocket {
        let isKnown = number >= 0 && Int(number) < records.count
        return OpenedSocket(number: number, opening: isKnown ? records[Int(number)].opening : 0)
    }

    /// Returns the connection's owner, if it is a connection that hadn't been hung up.
    mutating func close(_ socket: Int32) -> UInt32? {
        guard makeRecord(for: socket) else { return nil }
        let record = records[Int(socket)]
        if !record.registered.isEmpty { remove(socket) }
        if let port = record.localPort { forget(socket, at: port) }
        records[Int(socket)] = Record()
        Glibc.close(socket)
        return record.isConnection ? record.owner : nil
    }

    /// Watches `socket` for `interest`; its events carry `owner`. Returns whether that begins one of our connections. Negative numbers are
    /// ignored.
    ///
    /// - Parameter asker: The transfer that needs it; nil if that isn't known.
    mutating func watch(
        _ socket: Int32,
        for interest: SocketInterest,
        owner: UInt32,
        by asker: ObjectIdentifier? = nil
    ) -> Bool {
        guard makeRecord(for: socket) else { return false }
        var record = records[Int(socket)]
        let isNew = record.isOurs && !record.isConnection
        let isRegistered = record.isOurs && record.registered == interest
        let wasRegistered = !record.registered.isEmpty
        (record.registered, record.use, record.owner) = (interest, .wanted, owner)
        record.interestAfterRest = nil
        if let asker { record.asker = asker }
        records[Int(socket)] = record
        if !isRegistered { register(socket, interest, owner, wasRegistered: wasRegistered) }
        return isNew
    }

    mutating func unwatch(_ socket: Int32) {
        guard makeRecord(for: socket), records[Int(socket)].isWanted else { return }
        records[Int(socket)].use = .none
        records[Int(socket)].interestAfterRest = nil
        // Ours stay registered until they are wanted again, or something happens to them.
        if !records[Int(socket)].isOurs { remove(socket) }
    }

    /// Called when the transfer `asker` on `socket` is over; `traffic` is what may arrive until another takes the connection. Does nothing
    /// if one, perhaps paused, already has, or if the socket has been closed: its number may be that of a connection in use.
    mutating func becameIdle(_ opened: OpenedSocket, _ traffic: IdleTraffic, after asker: ObjectIdentifier) {
        let socket = opened.number
        guard makeRecord(for: socket) else { return }
        let record = records[Int(socket)]
        guard case .none = record.use, record.isOurs, record.opening == opened.opening, let owner = record.owner
        else { return }
        // Only connections with frames are shared, so another transfer has taken this one.
        if case .nothing = traffic, let latest = record.asker, latest != asker { return }
        records[Int(socket)].use = .idle(traffic)
        if case .nothing = traffic, record.localPort == nil { note(socket) }
        guard record.registered != .read else { return }
        records[Int(socket)].registered = .read
        register(socket, .read, owner, wasRegistered: !record.registered.isEmpty)
    }

    private mutating func register(
        _ socket: Int32,
        _ interest: SocketInterest,
        _ owner: UInt32,
        wasRegistered: Bool
    ) {
        var event = epoll_event()
        event.events = interest.rawValue
        event.data.u64 = UInt64(owner) << 32 | UInt64(UInt32(bitPattern: socket))
        if epoll_ctl(descriptor, wasRegistered ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, socket, &event) == 0 { return }
        // The record is of another socket, closed long ago, or the kernel still watches this one.
        if epoll_ctl(descriptor, errno == ENOENT ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, socket, &event) == 0 { return }
        records[Int(socket)].registered = []
    }

    /// Whether the kernel watches `socket`: it refuses for lack of memory, or beyond the user's limit (epoll(7), max_user_watches).
    func isWatching(_ socket: Int32) -> Bool {
        socket >= 0 && Int(socket) < records.count && !records[Int(socket)].registered.isEmpty
    }

    private mutating func remove(_ socket: Int32) {
        var event = epoll_event()
        _ = epoll_ctl(descriptor, EPOLL_CTL_DEL, socket, &event)
        records[Int(socket)].registered = []
    }

    /// False if `socket` isn't a descriptor.
    private mutating func makeRecord(for socket: Int32) -> Bool {
        guard socket >= 0 else { return false }
        if Int(socket) >= records.count {
            records.append(contentsOf: repeatElement(Record(), count: Int(socket) + 64 - records.count))
        }
        return true
    }

    // MARK: - Sockets that are ready for nothing

    /// Called when libcurl was told that it can write to `socket`, and nothing had arrived there. `isFutile` if it did nothing about it.
    /// True if the socket is no longer watched for writing, until something happens to it or `endRests` is called.
    mutating func noteWritable(_ socket: Int32, isFutile: Bool) -> Bool {
        guard makeRecord(for: socket) else { return false }
        records[Int(socket)].writes.note(isFutile: isFutile)
        let record = records[Int(socket)]
        guard record.writes.mayRest, record.isOurs, record.isWanted, record.registered.contains(.write),
            let owner = record.owner
        else { return false }
        let others = record.registered.subtracting(.write)
        let rest = others.isEmpty ? .end : others
        (records[Int(socket)].interestAfterRest, records[Int(socket)].registered) = (record.registered, rest)
        register(socket, rest, owner, wasRegistered: true)
        resting.append(socket)
        return true
    }

    /// Watches for writing again all sockets that libcurl still wants to write to.
    mutating func endRests() {
        for socket in resting { endRest(of: socket) }
        resting.removeAll(keepingCapacity: true)
    }

    private mutating func endRest(of socket: Int32) {
        guard let interest = records[Int(socket)].interestAfterRest, let owner = records[Int(socket)].owner else {
            return
        }
        (records[Int(socket)].interestAfterRest, records[Int(socket)].registered) = (nil, interest)
        register(socket, interest, owner, wasRegistered: true)
    }

    // MARK: - Idle connections

    private mutating func note(_ socket: Int32) {
        let port = ConnectionEndpoints.localPort(of: socket)
        records[Int(socket)].localPort = port
        socketsByPort[port, default: []].append(socket)
    }

    private mutating func forget(_ socket: Int32, at port: Int) {
        socketsByPort[port]?.removeAll { $0 == socket }
        if socketsByPort[port]?.isEmpty == true { socketsByPort[port] = nil }
    }

    /// The idle sockets from `localPort` on which nothing may arrive until the next request.
    func idle(onPort localPort: Int) -> [Int32] {
        guard let sockets = socketsByPort[localPort] else { return [] }
        return sockets.filter { records[Int($0)].isToBeSilent }
    }

    /// Hangs up the idle connections from `localPort` on which something unrequested has arrived, or all of them if `isSuspect`. Called
    /// before a request is sent on one of them; returns their owners. `mayBeTaken` tells whether one of an owner's connections may have a
    /// request.
    mutating func hangUpReadable(
        onPort localPort: Int,
        all isSuspect: Bool,
        unless mayBeTaken: (UInt32) -> Bool
    ) -> [UInt32] {
        guard let sockets = socketsByPort[localPort] else { return [] }
        var owners: [UInt32] = []
        for socket in sockets where records[Int(socket)].isToBeSilent {
            var byte: UInt8 = 0
            let flags = Int32(MSG_PEEK | MSG_DONTWAIT)
            guard isSuspect || recv(socket, &byte, 1, flags) > 0, let owner = records[Int(socket)].owner,
                !mayBeTaken(owner)
            else { continue }
            hangUp(socket)
            owners.append(owner)
        }
        return owners
    }

    /// Whether it is still open, and hasn't been hung up.
    func isConnection(_ opened: OpenedSocket) -> Bool {
        opened.opening > 0 && opened == current(opened.number) && records[Int(opened.number)].isConnection
    }

    /// Makes the connection unreadable and unwritable, so libcurl finds it closed.
    mutating func hangUp(_ socket: Int32) {
        TCPSocket.shutDown(socket)
        // Data that has already arrived could still be read.
        withUnsafeTemporaryAllocation(byteCount: 16 * 1024, alignment: 1) { buffer in
            while recv(socket, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT)) > 0 {}
        }
        remove(socket)
        records[Int(socket)].use = .dead
    }

    /// Leaves input on an idle connection to the request that has it: libcurl asks for the socket when it wants to read on. Until it asks,
    /// the socket isn't watched.
    mutating func ignore(_ socket: Int32) {
        remove(socket)
    }

    /// Leaves an idle connection that has ended to libcurl, with everything that has arrived on it.
    mutating func leave(_ socket: Int32) {
        remove(socket)
        records[Int(socket)].use = .none
    }

    // MARK: - Events

    enum Event {
        case ready(ReadySocket)
        /// Something has happened to an idle connection of this owner on which nothing may arrive. It is to be hung up, or ignored if a
        /// request has it after all: libcurl may send it and read much of the response before it asks to have the socket watched.
        case unasked(owner: UInt32, socket: Int32)
        /// The other side of this owner's idle connection has gone. It is to be hung up, or left to requests that share it.
        case ended(owner: UInt32, socket: Int32)
        /// An event without an owner.
        case stray
    }

    /// Fetches the events that are ready, or waits up to `milliseconds` for the first, and returns how many there are; see `event(at:)`.
    func poll(waitingFor milliseconds: Int32 = 0) -> Int {
        max(0, Int(epoll_wait(descriptor, events.baseAddress, Int32(events.count), milliseconds)))
    }

    mutating func event(at index: Int) -> Event {
        let event = events[index]
        let socket = Int32(bitPattern: UInt32(truncatingIfNeeded: event.data.u64))
        let owner = UInt32(event.data.u64 >> 32)
        let hasEnded = event.events & (EPOLLHUP.rawValue | EPOLLERR.rawValue | EPOLLRDHUP.rawValue) != 0
        switch records[Int(socket)].use {
        case .wanted:
            // The input may let libcurl write.
            endRest(of: socket)
            return .ready(ReadySocket(owner: owner, socket: socket, readiness: event.events))
        case .idle(.nothing):
            return .unasked(owner: owner, socket: socket)
        case .idle(.frames) where hasEnded:
            return .ended(owner: owner, socket: socket)
        case .idle(.frames):
            records[Int(socket)].registered = .end
            register(socket, .end, owner, wasRegistered: true)
            return .stray
        case .none, .dead:
            remove(socket)
            return .stray
        }
    }
}
