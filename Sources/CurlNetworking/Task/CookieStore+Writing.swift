import Dispatch
import Foundation

// How a store's changes get into the storage. Everything on the indexing queue, but for the writing itself.

extension CookieStore {
    /// A callback for when all that has been noted so far is written.
    struct Waiter {
        let mark: PendingCookieWrites.Mark
        /// nil to wait as long as it takes.
        let deadline: DispatchTime?
        let completion: @Sendable () -> Void
    }

    // MARK: - Batches

    /// Begins to write, unless that is under way or there is nothing to write.
    ///
    /// `trusting` skips the last look whether the program has changed the storage meanwhile: so one that never stops doing so doesn't keep
    /// us from writing.
    func writeNext(trusting: Bool = false) {
        if case .writing = shared.withLock({ $0.phase }) { return }
        // In memory a change takes microseconds. A file is written with each, so look-ups compare after each.
        guard let changes = pending.take(upTo: isInMemory ? 64 : 1) else { return publish() }
        // Look-ups made by now see what the program has done by now.
        while !beginWriting() { answerLookups() }
        let known = knownCookies
        writing.async { [self] in
            // Nothing is compared during the write, so the index must have what the program has done before it.
            let isKnown = trusting || CookieSnapshot.areSame(storage.cookies ?? [], known)
            if isKnown { for change in changes { change.apply(to: storage) } }
            shared.withLock { $0.phase = .comparable(onLoop: false) }
            indexing.async { isKnown ? self.wrote(changes) : self.wroteNothing() }
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
        // What the storage didn't take, because its policy has changed, isn't a cookie any more.
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

    /// Calls `completion` when all that has been noted so far is written; with `shortly`, at once where that would take long, and in any
    /// case soon.
    func wait(shortly: Bool, _ completion: @escaping @Sendable () -> Void) {
        guard !pending.isEmpty, !shortly || isShort else { return completion() }
        let deadline = shortly ? DispatchTime.now() + Self.longestShortWait : nil
        waiters.append(Waiter(mark: pending.mark, deadline: deadline, completion: completion))
        if let deadline {
            indexing.asyncAfter(deadline: deadline) { [self] in
                let now = DispatchTime.now()
                completeWaiters { $0.deadline.map { $0 <= now } ?? false }
            }
        }
    }

    private func completeWaiters(_ isDone: (Waiter) -> Bool) {
        let done = waiters.filter(isDone)
        guard !done.isEmpty else { return }
        waiters.removeAll(where: isDone)
        for waiter in done { waiter.completion() }
    }

    /// With each change the stock storage goes through all its cookies, and writes those that live on to its file.
    private var isShort: Bool {
        StorageEffort.isShort(changes: pending.count, cookies: index.count, isInMemory: isInMemory)
    }

    /// A file may be on a disk that doesn't answer.
    private static let longestShortWait = DispatchTimeInterval.milliseconds(500)
}

/// How long the stock storage will be busy.
enum StorageEffort {
    /// Whether making so many changes, one by one, in a storage of so many cookies is a matter of some 0.1 s. A cookie in a file costs
    /// 150 µs whenever the file is written, which itself costs as much as some cookies; one in memory 0.2 µs.
    static func isShort(changes: Int, cookies: Int, isInMemory: Bool) -> Bool {
        let (effort, isHuge) = changes.multipliedReportingOverflow(by: max(cookies, 0) + 16)
        return !isHuge && effort <= (isInMemory ? 1_000_000 : 1_000)
    }
}
