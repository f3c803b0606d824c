import Dispatch
import Foundation

// Writes a store's changes to the storage. Everything runs on the indexing queue, except the writing itself.

extension CookieStore {
    /// Waits until everything noted before it is written.
    struct Waiter {
        let mark: PendingCookieWrites.Mark
        /// nil to wait as long as it takes.
        let deadline: DispatchTime?
        let completion: @Sendable () -> Void
    }

    // MARK: - Batches

    /// Starts to write, unless a write is under way or there is nothing to write.
    ///
    /// `trusting` skips the check whether the program has changed the storage meanwhile, so that a program that keeps changing it can't
    /// prevent writing.
    func writeNext(trusting: Bool = false) {
        guard !isWriting else { return }
        // Look-ups made before now see the program's changes before now, which may leave nothing to write.
        while !pending.isEmpty, !beginWriting() { answerLookups() }
        // In memory a change takes microseconds. With a file, each change writes it, so look-ups compare after each.
        guard let changes = pending.take(upTo: isInMemory ? 64 : 1) else {
            publish()
            return completeWaiters { self.pending.hasPassed($0.mark) }
        }
        let known = knownCookies
        writing.async { [self] in
            // Nothing is compared during the write, so the index must have all earlier changes of the program.
            let isKnown = trusting || CookieSnapshot.areSame(storage.cookies ?? [], known)
            if isKnown {
                let file = isInMemory ? nil : CookieFile(of: storage)
                file?.prepare()
                for change in changes { change.apply(to: storage) }
                file?.makePrivate()
            }
            indexing.async {
                // Not earlier, because a comparison has to know whether `changes` have been written.
                self.shared.withLock { $0.phase = .comparable(onLoop: false) }
                isKnown ? self.wrote(changes) : self.wroteNothing()
            }
        }
    }

    private func beginWriting() -> Bool {
        shared.withLock { shared in
            guard shared.lookups.isEmpty else { return false }
            shared.phase = .writing
            return true
        }
    }

    private func wrote(_ changes: [CookieChange]) {
        pending.finish()
        compare()
        // Cookies that the storage refused, because its policy has changed, are removed.
        let refused = changes.map(\.cookie.key).filter { pending[$0] == nil && index[$0]?.isInStorage == false }
        if !refused.isEmpty {
            for key in refused { index.remove(key) }
            publish()
        }
        completeWaiters { self.pending.hasPassed($0.mark) }
        writeNext()
    }

    private func wroteNothing() {
        pending.putBack()
        compare()
        writeNext(trusting: true)
    }

    // MARK: - Waiting

    /// Calls `completion` once everything noted so far is written. With `shortly`, calls it at once if that would take long, and after
    /// `longestShortWait` in any case.
    func wait(shortly: Bool, _ completion: @escaping @Sendable () -> Void) {
        guard !pending.isEmpty, !shortly || isShort else { return completion() }
        let deadline = shortly ? DispatchTime.now() + Self.longestShortWait : nil
        waiters.append(Waiter(mark: pending.mark, deadline: deadline, completion: completion))
        if let deadline, alarm == nil { setAlarm(at: deadline) }
    }

    /// Completes, at `deadline`, the waiters that have waited long enough. There is one alarm at a time, since all wait equally long.
    private func setAlarm(at deadline: DispatchTime) {
        alarm = deadline
        indexing.asyncAfter(deadline: deadline) { [self] in
            alarm = nil
            let now = DispatchTime.now()
            completeWaiters { $0.deadline.map { $0 <= now } ?? false }
            if let next = waiters.lazy.compactMap(\.deadline).first { setAlarm(at: next) }
        }
    }

    private func completeWaiters(_ isDone: (Waiter) -> Bool) {
        let done = waiters.filter(isDone)
        guard !done.isEmpty else { return }
        waiters.removeAll(where: isDone)
        for waiter in done { waiter.completion() }
    }

    /// For each change, the stock storage goes through all its cookies, and writes those that aren't session cookies to its file.
    private var isShort: Bool {
        StorageEffort.isShort(changes: pending.count, cookies: index.count, isInMemory: isInMemory)
    }

    /// The file may be on a disk that doesn't respond.
    private static let longestShortWait = DispatchTimeInterval.milliseconds(500)
}

/// An estimate of how long the stock storage will be busy.
enum StorageEffort {
    /// Whether this many changes, made one by one in a storage with this many cookies, take no more than about 0.1 s. Each cookie costs 150
    /// µs for each write of the file (plus a fixed cost of a few cookies), and 0.2 µs in memory.
    static func isShort(changes: Int, cookies: Int, isInMemory: Bool) -> Bool {
        let (effort, isHuge) = changes.multipliedReportingOverflow(by: max(cookies, 0) + 16)
        return !isHuge && effort <= (isInMemory ? 1_000_000 : 1_000)
    }
}
