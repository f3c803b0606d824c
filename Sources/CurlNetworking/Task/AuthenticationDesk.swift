import Foundation
import Locks

/// What a session's tasks know of credentials together, and the queue of those that want to ask for one: for each protection space
/// one at a time, and the others wait for its answer. Any thread: a proxy's spaces concern tasks on all of the session's loops.
final class AuthenticationDesk: Sendable {
    private let spaces = Mutex(ProtectionSpaces())
    private let queues = Mutex<[ProtectionSpace: Queue]>([:])

    private struct Queue {
        /// Whose turn it is.
        var asking: TaskRunner
        var waiting: [TaskRunner] = []
    }

    // MARK: - What is known

    func withSpaces<Result>(_ body: (inout ProtectionSpaces) -> Result) -> Result {
        spaces.withLock { spaces in body(&spaces) }
    }

    func forgetAll() {
        spaces.withLock { $0 = ProtectionSpaces() }
    }

    // MARK: - Questions

    /// True when it is `runner`'s turn to ask; else its `askedElsewhere(about:)` is called when it is.
    func enter(_ runner: TaskRunner, about space: ProtectionSpace) -> Bool {
        queues.withLock { queues in
            guard queues[space] != nil else {
                queues[space] = Queue(asking: runner)
                return true
            }
            queues[space]?.waiting.append(runner)
            return false
        }
    }

    func isTurn(of runner: TaskRunner, about space: ProtectionSpace) -> Bool {
        queues.withLock { $0[space]?.asking === runner }
    }

    /// `runner` has its answer, or wants none any more: it is the next one's turn, who may have got the answer with that.
    func leave(_ runner: TaskRunner, about space: ProtectionSpace) {
        let next = queues.withLock { queues -> TaskRunner? in
            guard var queue = queues[space] else { return nil }
            guard queue.asking === runner else {
                queue.waiting.removeAll { $0 === runner }
                queues[space] = queue
                return nil
            }
            guard !queue.waiting.isEmpty else {
                queues[space] = nil
                return nil
            }
            queue.asking = queue.waiting.removeFirst()
            queues[space] = queue
            return queue.asking
        }
        guard let next else { return }
        // Behind what is under way, and on that one's own loop.
        next.submit { next.askedElsewhere(about: space) }
    }
}

extension SessionCore {
    /// Made when first needed: most sessions never are. Any thread.
    var authenticationDesk: AuthenticationDesk {
        madeAuthenticationDesk.withLock { made in
            let desk = made ?? AuthenticationDesk()
            made = desk
            return desk
        }
    }

    var existingAuthenticationDesk: AuthenticationDesk? { madeAuthenticationDesk.withLock { $0 } }

    /// Later requests are sent without credentials again. Any thread.
    func forgetCredentials() {
        existingAuthenticationDesk?.forgetAll()
        lanes.visit { $0.handshakes.forgetDecisions() }
    }
}
