import CurlTransport
import Foundation
import Glibc

/// Threads for work that may take long, or block. Dispatch's queues share a limited number of threads, and a program can block all of them
/// while it waits for the very task that needs one.
///
/// Threads that stay idle end after `idleTime`.
///
/// `@unchecked Sendable`: `condition` guards the mutable state.
final class WorkThreads: @unchecked Sendable {
    typealias Work = @Sendable () -> Void

    /// For work that may block indefinitely: the program's streams and storages, other processes, and Kerberos. Everything runs at once.
    static let blocking = WorkThreads(limit: .max)
    /// For files in the module's directories. Most of that work is short, and many threads doing it at once would wait for each other, as
    /// for a directory's lock.
    static let files = WorkThreads(limit: 16, longestShortWork: .milliseconds(1))
    /// For files that the program names, which may be anywhere: however many are on a file system that doesn't respond, no other file, the
    /// module's own included, waits for them.
    static let namedFiles = WorkThreads(limit: .max, longestShortWork: .milliseconds(1))

    private let limit: Int
    private let longestShortWork: Duration
    /// Starts a thread that calls `serve`. Returns false if the system can't.
    private let start: @Sendable (WorkThreads) -> Bool
    private let condition = Condition()
    private var waiting = Fifo<Work>()
    private var count = 0
    private var idle = 0
    /// How many of the idle threads have been woken.
    private var woken = 0
    /// How many threads, started or woken, have yet to look at `waiting`.
    private var coming = 0
    /// When each busy thread began its current work. Empty if `longestShortWork` is zero.
    private var begins: [(number: Int, time: MonotonicTime)] = []
    /// Whether a thread that found others at work will look again; see `watch`.
    private var isWatched = false
    private var latestNumber = 0

    /// In seconds.
    private static let idleTime = 5
    /// With more idle threads than this, each would still get work now and then, and none would end.
    private static let maximumIdle = 32

    /// - Parameters:
    ///   - limit: How many threads there may be.
    ///   - longestShortWork: A thread starts new work only once all busy threads have spent longer than this on theirs.
    ///   - start: See `start`; for tests.
    init(
        limit: Int,
        longestShortWork: Duration = .zero,
        start: @escaping @Sendable (WorkThreads) -> Bool = { $0.startOwnThread() }
    ) {
        self.limit = limit
        self.longestShortWork = longestShortWork
        self.start = start
    }

    /// Runs `work` on one of the threads, and doesn't wait for it. Any thread.
    func run(_ work: @escaping Work) {
        let starts = condition.withLock {
            waiting.append(work)
            return callThreadIfNeeded()
        }
        if starts { startThread() }
    }

    /// Releases `object` on one of the threads: its `deinit` may wait. Any thread.
    func release<Object: AnyObject>(_ object: inout Object?) {
        let reference = Reference(object.take())
        run { reference.object = nil }
    }

    /// No longer holds its object when it is itself released, wherever that is.
    ///
    /// `@unchecked Sendable`: once made, it is used only by the releasing thread.
    private final class Reference<Object: AnyObject>: @unchecked Sendable {
        var object: Object?

        init(_ object: Object?) {
            self.object = object
        }
    }

    /// Called with the lock. Returns whether the caller must then start a thread.
    private func callThreadIfNeeded() -> Bool {
        guard needsThread else { return false }
        if idle > woken {
            woken += 1
            coming += 1
            condition.signal()
            return false
        }
        guard count < limit else { return false }
        count += 1
        coming += 1
        return true
    }

    private var needsThread: Bool {
        guard longestShortWork > .zero else { return coming < waiting.count }
        return !waiting.isEmpty && coming == 0 && (begins.isEmpty || !isWatched)
    }

    private func startThread() {
        if start(self) { return }
        // Dispatch waits until it has a thread. It may have no other one, so that goes back as soon as there is nothing to do.
        DispatchQueue(label: "CurlNetworking.work").async { self.serve(isBorrowed: true) }
    }

    private func startOwnThread() -> Bool {
        var thread = pthread_t()
        let context = Unmanaged.passRetained(self)
        let start: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { context in
            if let context { Unmanaged<WorkThreads>.fromOpaque(context).takeRetainedValue().serve(isBorrowed: false) }
            return nil
        }
        guard pthread_create(&thread, nil, start, context.toOpaque()) == 0 else {
            context.release()
            return false
        }
        pthread_detach(thread)
        return true
    }

    // MARK: - On the threads

    private func serve(isBorrowed: Bool) {
        let number = condition.withLock {
            coming -= 1
            latestNumber += 1
            return latestNumber
        }
        while let (work, starts) = next(for: number, isBorrowed) {
            if starts { startThread() }
            work()
        }
    }

    /// Returns the thread's next work, and whether it must first start another thread; nil if it is to end.
    private func next(for number: Int, _ isBorrowed: Bool) -> (Work, starts: Bool)? {
        condition.lock()
        defer { condition.unlock() }
        begins.removeAll { $0.number == number }
        while true {
            if !areOthersQuick, let work = waiting.popFirst() {
                if longestShortWork > .zero { begins.append((number, .now)) }
                return (work, callThreadIfNeeded())
            }
            if waiting.isEmpty || isWatched {
                guard waitForWork(isBorrowed) else { return nil }
            } else {
                watch()
            }
        }
    }

    /// Whether a busy thread hasn't taken long yet.
    private var areOthersQuick: Bool {
        guard !begins.isEmpty else { return false }
        let now = MonotonicTime.now
        return begins.contains { $0.time + longestShortWork > now }
    }

    /// Ensures that no work waits for threads that take long.
    private func watch() {
        isWatched = true
        condition.unlock()
        Thread.sleep(forTimeInterval: longestShortWork / .seconds(1))
        condition.lock()
        isWatched = false
    }

    /// False if the thread is to end: if none arrives in time, or at once if it is borrowed.
    private func waitForWork(_ isBorrowed: Bool) -> Bool {
        guard !isBorrowed, idle < Self.maximumIdle else {
            count -= 1
            return false
        }
        idle += 1
        defer { idle -= 1 }
        let end = Condition.end(ofWaiting: Self.idleTime)
        while woken == 0 {
            if condition.wait(until: end) || woken > 0 { continue }
            count -= 1
            return false
        }
        woken -= 1
        coming -= 1
        return true
    }
}
