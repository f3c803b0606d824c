import Foundation
import Glibc

/// Threads for work that may take long, or block. Dispatch's queues share a limited number of threads, and a program can block all of those
/// while it waits for the very task that needs one.
///
/// A thread that has had nothing to do for a while ends.
///
/// `@unchecked Sendable`: `condition` guards what changes.
final class WorkThreads: @unchecked Sendable {
    typealias Work = @Sendable () -> Void

    /// For whatever may block for any time: the program's streams and storages, and other processes. Everything runs at once.
    static let blocking = WorkThreads(limit: .max)
    /// For files, which are slow at most. With too much to do, some of it waits.
    static let files = WorkThreads(limit: 16)

    private let limit: Int
    private let condition = NSCondition()
    private var waiting = Fifo<Work>()
    private var count = 0
    /// The threads without work, including those that were woken for what is in `waiting`.
    private var idle = 0

    /// In seconds.
    private static let idleTime: TimeInterval = 5

    /// - Parameter limit: How many threads there may be.
    init(limit: Int) {
        self.limit = limit
    }

    /// Runs `work` on one of the threads, and doesn't wait for it. Any thread.
    func run(_ work: @escaping Work) {
        let needsThread = condition.withLock {
            waiting.append(work)
            if idle >= waiting.count {
                condition.signal()
                return false
            }
            guard count < limit else { return false }
            count += 1
            return true
        }
        if needsThread { startThread() }
    }

    private func startThread() {
        var thread = pthread_t()
        let context = Unmanaged.passRetained(self)
        let start: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { context in
            if let context { Unmanaged<WorkThreads>.fromOpaque(context).takeRetainedValue().serve() }
            return nil
        }
        guard pthread_create(&thread, nil, start, context.toOpaque()) == 0 else {
            context.release()
            // The system has no thread left; Dispatch waits until it has.
            return DispatchQueue(label: "CurlNetworking.work").async { self.serve() }
        }
        pthread_detach(thread)
    }

    // MARK: - On the threads

    private func serve() {
        while let work = next() { work() }
    }

    /// nil if the thread is to end.
    private func next() -> Work? {
        condition.lock()
        defer { condition.unlock() }
        while true {
            if let work = waiting.popFirst() { return work }
            idle += 1
            let isInTime = condition.wait(until: Date(timeIntervalSinceNow: Self.idleTime))
            idle -= 1
            guard isInTime || !waiting.isEmpty else {
                count -= 1
                return nil
            }
        }
    }
}
