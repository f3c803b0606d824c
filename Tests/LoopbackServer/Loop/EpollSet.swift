import CCurlNetworkingLinux
import Glibc

/// What a socket is ready for, or what its owner wants to be told about.
struct Readiness: OptionSet, Sendable {
    let rawValue: UInt32

    static let readable = Readiness(rawValue: EPOLLIN.rawValue)
    static let writable = Readiness(rawValue: EPOLLOUT.rawValue)
    /// The connection was reset. Always reported.
    static let failed = Readiness(rawValue: EPOLLERR.rawValue)
    /// Both directions are closed. Always reported.
    static let hungUp = Readiness(rawValue: EPOLLHUP.rawValue)
}

/// An epoll set, level-triggered, and a way to wake the thread that waits for it.
///
/// Belongs to that thread, except for `wakeUp()`. A closed socket leaves the set by itself.
struct EpollSet: ~Copyable {
    private static let wakeUpToken = UInt64.max

    private let descriptor: Int32
    private let wakeUpDescriptor: Int32
    private let events = UnsafeMutableBufferPointer<epoll_event>.allocate(capacity: 512)

    init() throws {
        descriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
        wakeUpDescriptor = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
        guard descriptor >= 0, wakeUpDescriptor >= 0 else {
            throw LoopbackServer.SocketError(call: "epoll_create1", code: errno)
        }
        add(wakeUpDescriptor, token: Self.wakeUpToken, interest: .readable)
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
        if wakeUpDescriptor >= 0 { close(wakeUpDescriptor) }
        events.deallocate()
    }

    /// Begins to watch `socket`; its events carry `token`. False if the kernel has no room.
    @discardableResult
    func add(_ socket: Int32, token: UInt64, interest: Readiness) -> Bool {
        control(EPOLL_CTL_ADD, socket, token, interest)
    }

    /// Watches `socket` for something else from now on.
    func modify(_ socket: Int32, token: UInt64, interest: Readiness) {
        control(EPOLL_CTL_MOD, socket, token, interest)
    }

    @discardableResult
    private func control(_ operation: Int32, _ socket: Int32, _ token: UInt64, _ interest: Readiness) -> Bool {
        var event = epoll_event(events: interest.rawValue, data: epoll_data_t(u64: token))
        return epoll_ctl(descriptor, operation, socket, &event) == 0
    }

    /// Waits for events and hands each to `body`.
    ///
    /// - Parameter timeout: Rounded up to milliseconds; nil for no limit.
    func wait(timeout: Duration?, _ body: (UInt64, Readiness) -> Void) {
        let milliseconds = timeout.map { Int32((min($0, .seconds(3600)) / .milliseconds(1)).rounded(.up)) }
        let count = epoll_wait(descriptor, events.baseAddress, Int32(events.count), milliseconds ?? -1)
        for event in events.prefix(max(0, Int(count))) {
            if event.data.u64 == Self.wakeUpToken {
                var count: UInt64 = 0
                _ = read(wakeUpDescriptor, &count, MemoryLayout<UInt64>.size)
            } else {
                body(event.data.u64, Readiness(rawValue: event.events))
            }
        }
    }

    /// Makes the current wait, or the next one, return. Any thread.
    func wakeUp() {
        var one: UInt64 = 1
        _ = write(wakeUpDescriptor, &one, MemoryLayout<UInt64>.size)
    }
}
