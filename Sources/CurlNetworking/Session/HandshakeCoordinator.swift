import CurlTransport

/// Waits for the answer to a question about a TLS handshake. Loop only.
protocol HandshakeWaiter: AnyObject {
    /// Another's question, the same as this one's, was answered: perhaps for both.
    func questionSettledElsewhere()
}

/// What one of a session's delegates has decided about the handshakes of a pool's hosts, and the queue of tasks whose question is
/// another's already. Loop only.
final class HandshakeCoordinator {
    /// A question and the origin it is about.
    struct Subject: Hashable {
        var origin: Origin
        var question: HandshakeQuestion
    }

    enum Identity {
        case undecided
        /// The server gets it, or goes without.
        case decided(ClientCertificate?)
    }

    private struct Known {
        var decisions = HandshakeDecisions()
        var identity = Identity.undecided
        /// A chain was accepted that verification had turned down.
        var acceptsProblems = false
    }

    private var known: [Origin: Known] = [:]
    private var queues: [Subject: [any HandshakeWaiter]] = [:]

    /// With more, something is wrong with the other side; the oldest are asked about again.
    private static let maximumChains = 16
    private static let maximumOrigins = 10_000

    // MARK: - Decisions

    func decisions(for origin: Origin) -> HandshakeDecisions {
        known[origin]?.decisions ?? HandshakeDecisions()
    }

    func identity(for origin: Origin) -> ClientCertificate? {
        guard case .decided(let identity) = known[origin]?.identity else { return nil }
        return identity
    }

    /// Whether the question has been answered since it came up.
    func hasDecided(_ subject: Subject) -> Bool {
        let decisions = decisions(for: subject.origin)
        return switch subject.question {
        case .serverTrust(let chain, _, _):
            decisions.acceptedChains.contains(chain) || decisions.verifiedChains.contains(chain)
        case .clientCertificate: decisions.hasDecidedOnCertificate
        }
    }

    /// Whether a connection to `origin` may have a certificate that verification would have turned down.
    func acceptsProblems(of origin: Origin) -> Bool {
        known[origin]?.acceptsProblems ?? false
    }

    /// - Parameter hasProblem: Whether verification had turned it down.
    func accept(_ chain: [[UInt8]], of origin: Origin, hasProblem: Bool) {
        change(origin) { known in
            if hasProblem { known.acceptsProblems = true }
            known.decisions.acceptedChains.append(chain)
            if known.decisions.acceptedChains.count > Self.maximumChains {
                known.decisions.acceptedChains.removeFirst()
            }
        }
    }

    /// Leaves it to verification.
    func verify(_ chain: [[UInt8]], of origin: Origin) {
        change(origin) { known in
            known.decisions.verifiedChains.append(chain)
            if known.decisions.verifiedChains.count > Self.maximumChains {
                known.decisions.verifiedChains.removeFirst()
            }
        }
    }

    func show(_ identity: ClientCertificate?, to origin: Origin) {
        change(origin) { known in
            known.identity = .decided(identity)
            known.decisions.hasDecidedOnCertificate = true
        }
    }

    /// The server wanted none of what it was shown: the next task may bring something better.
    func forgetIdentity(for origin: Origin) {
        guard known[origin] != nil else { return }
        change(origin) { known in
            known.identity = .undecided
            known.decisions.hasDecidedOnCertificate = false
        }
    }

    private func change(_ origin: Origin, _ change: (inout Known) -> Void) {
        if known[origin] == nil, known.count >= Self.maximumOrigins { known = [:] }
        change(&known[origin, default: Known()])
    }

    func forgetAll() {
        known = [:]
    }

    // MARK: - Questions

    /// True when `waiter` is to ask; else its `questionSettledElsewhere()` is called when it is to try again.
    func enter(_ waiter: any HandshakeWaiter, about subject: Subject) -> Bool {
        queues[subject, default: []].append(waiter)
        return queues[subject]?.count == 1
    }

    /// `waiter` has its answer, or wants none any more.
    func leave(_ waiter: any HandshakeWaiter, about subject: Subject) {
        guard var queue = queues[subject], let index = queue.firstIndex(where: { $0 === waiter }) else { return }
        queue.remove(at: index)
        guard index == 0 else { return queues[subject] = queue }
        queues[subject] = nil
        // What they find may be the same question, if the answer was for `waiter` alone.
        for other in queue { other.questionSettledElsewhere() }
    }
}
