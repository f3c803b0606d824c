import Foundation
import CurlNetworkingLocks

/// Waits for its turn to ask for a credential.
protocol AuthenticationWaiter: AnyObject, Sendable {
    /// Called when it is the waiter's turn; the previous waiter's answer may serve both. Any thread.
    func turnCame(about space: ProtectionSpace)
}

/// The credentials that a session's tasks share, and the queues of tasks that want to ask for one: one task at a time for each protection
/// space, while the others wait for its answer. Any thread, since a proxy's spaces concern tasks on all of the session's loops.
final class AuthenticationCoordinator: Sendable {
    private let spaces = Mutex(ProtectionSpaces())
    private let queues = Mutex<[ProtectionSpace: Queue]>([:])

    private struct Queue {
        /// The waiter whose turn it is.
        var asking: any AuthenticationWaiter
        var waiting = Fifo<any AuthenticationWaiter>()
    }

    // MARK: - Known credentials

    func withSpaces<Result>(_ body: (inout ProtectionSpaces) -> Result) -> Result {
        spaces.withLock { spaces in body(&spaces) }
    }

    func forgetAll() {
        spaces.withLock { $0 = ProtectionSpaces() }
    }

    // MARK: - Questions

    /// True if it is `waiter`'s turn to ask; otherwise its `turnCame(about:)` is called when it is.
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

    /// Passes the turn of `waiter`, which has its answer or no longer wants one, to the next waiter, whose answer may be the same.
    func leave(_ waiter: any AuthenticationWaiter, about space: ProtectionSpace) {
        let next = queues.withLock { queues -> (any AuthenticationWaiter)? in
            // In place: a copy would take time proportional to the number of waiters.
            guard queues[space]?.asking === waiter else {
                queues[space]?.waiting.removeAll { $0 === waiter }
                return nil
            }
            guard let next = queues[space]?.waiting.popFirst() else {
                queues[space] = nil
                return nil
            }
            queues[space]?.asking = next
            return next
        }
        next?.turnCame(about: space)
    }
}

extension SessionCore {
    /// Created on first use, since most sessions never need it. Any thread.
    var authenticationCoordinator: AuthenticationCoordinator {
        madeAuthenticationCoordinator.withLock { made in
            let coordinator = made ?? AuthenticationCoordinator()
            made = coordinator
            return coordinator
        }
    }

    var existingAuthenticationCoordinator: AuthenticationCoordinator? { madeAuthenticationCoordinator.withLock { $0 } }

    /// Makes later requests start without credentials, on new connections. Any thread.
    func forgetCredentials() {
        existingAuthenticationCoordinator?.forgetAll()
        pools.visit { $0.forgetDecisions() }
    }
}
