import Foundation
import Glibc

/// One thread, one epoll set, one queue of deadlines: everything a server does happens here, one thing at a time.
///
/// A thread and not a dispatch queue, so that a handler that blocks on purpose takes no worker thread from Dispatch or
/// Swift concurrency, and so that a wake-up costs one system call.
///
/// `@unchecked Sendable`: the properties under "loop only" are touched only by the loop's thread (asserted), or before
/// `start()`; the others are immutable or guarded by a lock.
final class EventLoop: @unchecked Sendable {
    /// The owner of the sockets. Called only on the loop.
    protocol Delegate: AnyObject {
        func socketReady(token: UInt64, _ readiness: Readiness)
        func deadlinePassed(token: UInt64, now: ContinuousClock.Instant)
        /// The last call: close every socket.
        func loopEnding()
    }

    private enum Life {
        case new
        case running(pthread_t)
        case ended
    }

    // MARK: Any thread

    private let condition = NSCondition()
    /// Guarded by `condition`.
    private var life = Life.new
    /// Guarded by `condition`.
    private var work: [@Sendable () -> Void] = []

    // MARK: Loop only

    private let epoll: EpollSet
    private var deadlines = DeadlineQueue()
    private var delegate: (any Delegate)?
    private var isStopping = false

    init() throws {
        epoll = try EpollSet()
    }

    /// Starts the thread. It keeps the loop and the delegate until `stop()`.
    func start(delegate: any Delegate) {
        self.delegate = delegate
        let thread = Thread { self.run() }
        thread.name = "LoopbackServer"
        thread.start()
    }

    /// Ends the loop. Returns when every socket is closed, or at once when called on the loop.
    func stop() {
        execute { self.isStopping = true }
        guard !isCurrent else { return }
        condition.withLock {
            while !isEnded { condition.wait() }
        }
    }

    /// Runs `action` on the loop, after what it is doing now. Dropped if the loop has ended.
    func execute(_ action: @escaping @Sendable () -> Void) {
        condition.withLock {
            guard !isEnded else { return }
            work.append(action)
            if work.count == 1 { epoll.wakeUp() }
        }
    }

    /// Like `execute`, but returns when it's done. Nil if the loop has ended.
    func perform<Result: Sendable>(_ action: @escaping @Sendable () -> Result) -> Result? {
        if isCurrent { return action() }
        let result = Locked<Result?>(nil)
        execute {
            let value = action()
            self.condition.withLock {
                result.withLock { $0 = value }
                self.condition.broadcast()
            }
        }
        condition.withLock {
            while !isEnded, result.withLock({ $0 == nil }) { condition.wait() }
        }
        return result.withLock { $0 }
    }

    /// Whether the caller is on the loop.
    var isCurrent: Bool {
        condition.withLock {
            guard case .running(let thread) = life else { return false }
            return pthread_equal(thread, pthread_self()) != 0
        }
    }

    /// Read it holding `condition`.
    private var isEnded: Bool {
        if case .ended = life { return true }
        return false
    }

    // MARK: Loop only

    /// Begins to watch a socket; its events carry `token`. False if the kernel has no room.
    @discardableResult
    func watch(_ socket: Int32, token: UInt64, for interest: Readiness) -> Bool {
        epoll.add(socket, token: token, interest: interest)
    }

    /// Watches a socket for something else. A closed one is no longer watched.
    func rewatch(_ socket: Int32, token: UInt64, for interest: Readiness) {
        epoll.modify(socket, token: token, interest: interest)
    }

    /// Tells the delegate when `instant` has passed.
    func schedule(at instant: ContinuousClock.Instant, token: UInt64) {
        deadlines.insert(instant, token: token)
    }

    private func run() {
        condition.withLock { life = .running(pthread_self()) }
        while !isStopping {
            let timeout = deadlines.earliest.map { max(.zero, ContinuousClock.now.duration(to: $0)) }
            epoll.wait(timeout: timeout) { token, readiness in
                delegate?.socketReady(token: token, readiness)
            }
            expireDeadlines()
            let actions = condition.withLock {
                defer { work.removeAll() }
                return work
            }
            for action in actions { action() }
        }
        delegate?.loopEnding()
        delegate = nil
        condition.withLock {
            life = .ended
            work.removeAll()
            condition.broadcast()
        }
    }

    private func expireDeadlines() {
        guard deadlines.earliest != nil else { return }
        let now = ContinuousClock.now
        while let token = deadlines.popExpired(at: now) {
            delegate?.deadlinePassed(token: token, now: now)
        }
    }
}
