import Foundation
import CurlNetworkingLocks

/// Waits for its turn to ask for a credential.
protocol AuthenticationWaiter: AnyObject, Sendable {
    /// It is its turn; the one before may have got an answer that serves both. Any thread.
    func turnCame(about space: ProtectionSpace)
}

/// What a session's tasks know of credentials together, and the queue of those that want to ask for one: for each protection space
/// one at a time, and the others wait for its answer. Any thread: a proxy's spaces concern tasks on all of the session's loops.
final class AuthenticationCoordinator: Sendable {
    private let spaces = Mutex(ProtectionSpaces())
    private let queues = Mutex<[ProtectionSpace: Queue]>([:])

    private struct Queue {
        /// Whose turn it is.
        var asking: any AuthenticationWaiter
        var waiting: [any AuthenticationWaiter] = []
    }

    // MARK: - What is known

    func withSpaces<Result>(_ body: (inout ProtectionSpaces) -> Result) -> Result {
        spaces.withLock { spaces in body(&spaces) }
    }

    func forgetAll() {
        spaces.withLock { $0 = ProtectionSpaces() }
    }

    // MARK: - Questions

    /// True when it is `waiter`'s turn to ask; else its `turnCame(about:)` is called when it is.
    func enter(_ waiter: any AuthenticationWaiter, about space: ProtectionSpace) -> Bool {
        queues.withLock { queues in
            guard queues[space] != nil else {
                queues[space] = Queue(asking: waiter)
                return true
            }
            queues[space]?.waiting.append(waiter)
            return false
        }
    }

    func isTurn(of waiter: any AuthenticationWaiter, about space: ProtectionSpace) -> Bool {
        queues.withLock { $0[space]?.asking === waiter }
    }

    /// `waiter` has its answer, or wants none any more: it is the next one's turn, who may have got the answer with that.
    func leave(_ waiter: any AuthenticationWaiter, about space: ProtectionSpace) {
        let next = queues.withLock { queues -> (any AuthenticationWaiter)? in
            guard var queue = queues[space] else { return nil }
            guard queue.asking === waiter else {
                queue.waiting.removeAll { $0 === waiter }
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
        next?.turnCame(about: space)
    }
}

extension SessionCore {
    /// Made when first needed: most sessions never are. Any thread.
    var authenticationCoordinator: AuthenticationCoordinator {
        madeAuthenticationCoordinator.withLock { made in
            let coordinator = made ?? AuthenticationCoordinator()
            made = coordinator
            return coordinator
        }
    }

    var existingAuthenticationCoordinator: AuthenticationCoordinator? { madeAuthenticationCoordinator.withLock { $0 } }

    /// Later requests are sent without credentials again. Any thread.
    func forgetCredentials() {
        existingAuthenticationCoordinator?.forgetAll()
        pools.visit { $0.handshakes.forgetDecisions() }
    }
}
