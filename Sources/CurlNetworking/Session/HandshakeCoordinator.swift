import CurlTransport

/// Waits for the answer to a question about a TLS handshake. Loop only.
protocol HandshakeWaiter: AnyObject {
    /// Called when an identical question of another waiter was answered, perhaps for both.
    func questionSettledElsewhere()
}

/// One delegate's decisions about the handshakes of a pool's hosts, and the queues of tasks whose question another task is already asking.
/// Loop only.
final class HandshakeCoordinator {
    struct Subject: Hashable {
        var origin: Origin
        var question: HandshakeQuestion
    }

    private struct Known {
        var decisions = HandshakeDecisions()
        /// Whether a chain that failed verification was accepted.
        var acceptsProblems = false
        /// Whether a certificate was to be presented, even if the server has since rejected it.
        var showsIdentity = false
    }

    private var known: [Origin: Known] = [:]
    private var queues: [Subject: [any HandshakeWaiter]] = [:]

    static let maximumOrigins = 10_000

    // MARK: - Decisions

    func decisions(for origin: Origin) -> HandshakeDecisions {
        known[origin]?.decisions ?? HandshakeDecisions()
    }

    /// Whether the question has been answered since it came up.
    func hasDecided(_ subject: Subject) -> Bool {
        let decisions = decisions(for: subject.origin)
        return switch subject.question {
        case .serverTrust(let chain, _, _): decisions.trust(in: chain) != nil
        case .clientCertificate: decisions.hasDecidedOnCertificate
        }
    }

    /// Whether a connection to `origin` may have a certificate that failed verification.
    func acceptsProblems(of origin: Origin) -> Bool {
        known[origin]?.acceptsProblems ?? false
    }

    /// Whether a connection to `origin` may have presented a client certificate.
    func showsIdentity(to origin: Origin) -> Bool {
        known[origin]?.showsIdentity ?? false
    }

    /// Whether there is no room for a decision about `origin`.
    func isFull(for origin: Origin) -> Bool {
        known[origin] == nil && known.count >= Self.maximumOrigins
    }

    /// For `ConnectionPool.note(_:about:in:)`, which makes room.
    func note(_ decision: HandshakeDecision, about origin: Origin) {
        switch decision {
        case .certificate(let certificate): show(certificate, to: origin)
        case .accepted(let chain, let hasProblem): accept(chain, of: origin, hasProblem: hasProblem)
        case .verified(let chain): verify(chain, of: origin)
        }
    }

    /// - Parameter hasProblem: Whether the chain failed verification.
    func accept(_ chain: [[UInt8]], of origin: Origin, hasProblem: Bool) {
        change(origin) { known in
            if hasProblem { known.acceptsProblems = true }
            known.decisions.note(.always, in: chain)
        }
    }

    /// Leaves the chain to verification.
    func verify(_ chain: [[UInt8]], of origin: Origin) {
        change(origin) { $0.decisions.note(.ifVerified, in: chain) }
    }

    func show(_ identity: ClientCertificate?, to origin: Origin) {
        change(origin) { known in
            if identity != nil { known.showsIdentity = true }
            known.decisions.identity = .decided(identity)
        }
    }

    /// Notes that the server rejected the client certificate; the next task may offer a better one.
    func forgetIdentity(for origin: Origin) {
        guard known[origin] != nil else { return }
        change(origin) { $0.decisions.identity = .undecided }
    }

    private func change(_ origin: Origin, _ change: (inout Known) -> Void) {
        change(&known[origin, default: Known()])
    }

    func forgetAll() {
        known = [:]
    }

    // MARK: - Questions

    /// The question about `origin` that is currently being asked, if any.
    func pendingSubject(at origin: Origin) -> Subject? {
        queues.isEmpty ? nil : queues.keys.first { $0.origin == origin }
    }

    /// True if `waiter` should ask; otherwise its `questionSettledElsewhere()` is called when it should try again.
    func enter(_ waiter: any HandshakeWaiter, about subject: Subject) -> Bool {
        queues[subject, default: []].append(waiter)
        return queues[subject]?.count == 1
    }

    /// Removes `waiter`, which has its answer or no longer wants one.
    func leave(_ waiter: any HandshakeWaiter, about subject: Subject) {
        guard var queue = queues[subject], let index = queue.firstIndex(where: { $0 === waiter }) else { return }
        queue.remove(at: index)
        guard index == 0 else { return queues[subject] = queue }
        queues[subject] = nil
        // They may meet the same question again if the answer was for `waiter` alone.
        for other in queue { other.questionSettledElsewhere() }
    }
}
