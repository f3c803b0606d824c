import CurlTransport
import Foundation

/// Whose decisions a task's TLS handshakes use.
enum HandshakeDecider {
    /// Those of the session's delegate, for all tasks that it is asked about.
    case session
    /// Those of the task's own delegate, for tasks with that delegate only.
    case task(any URLSessionDelegate)
}

/// One decider's decisions in a pool, and the connections made with them. A connection that one delegate accepted is never used for a task
/// whose delegate might not have.
final class HandshakeScope {
    let coordinator = HandshakeCoordinator()
    /// nil for the session's scope, which uses the pool's multi handle, and before the first connection.
    var multi: Multi?
    /// Weak, and not an identifier: another object might get the same address later.
    private weak var delegate: (any URLSessionDelegate)?

    init(of delegate: (any URLSessionDelegate)? = nil) {
        self.delegate = delegate
    }

    var isOver: Bool { delegate == nil }

    func isOf(_ other: any URLSessionDelegate) -> Bool { delegate === other }
}

/// The scopes of a pool. Loop only.
struct HandshakeScopes {
    /// Created on first use: most sessions never ask.
    private(set) var session: HandshakeScope?
    /// Those of tasks' own delegates, the most recently used last.
    private var own: [HandshakeScope] = []

    /// Beyond this, the oldest is dropped, and its delegate asked again.
    private static let maximumOwn = 16

    /// nil if nothing has been decided yet.
    func existing(of decider: HandshakeDecider) -> HandshakeScope? {
        switch decider {
        case .session: session
        case .task(let delegate): own.first { $0.isOf(delegate) }
        }
    }

    mutating func scope(of decider: HandshakeDecider) -> HandshakeScope {
        switch decider {
        case .session:
            let scope = session ?? HandshakeScope()
            session = scope
            return scope
        case .task(let delegate):
            let scope = own.first { $0.isOf(delegate) } ?? HandshakeScope(of: delegate)
            own.removeAll { $0 === scope }
            own.append(scope)
            return scope
        }
    }

    /// Removes the scopes whose delegates are gone, and the oldest if there are too many. The caller closes their connections.
    mutating func removeSuperfluous() -> [Multi] {
        guard own.contains(where: \.isOver) || own.count > Self.maximumOwn else { return [] }
        var removed = own.filter(\.isOver)
        own.removeAll(where: \.isOver)
        removed += own.prefix(max(0, own.count - Self.maximumOwn))
        own.removeFirst(max(0, own.count - Self.maximumOwn))
        return removed.compactMap(\.multi)
    }

    /// Removes all connections. The caller closes them, or lets their transfers finish.
    func takeMultis() -> [Multi] {
        own.compactMap { $0.multi.take() }
    }

    var multis: [Multi] { own.compactMap(\.multi) }

    /// Whether a delegate accepted a certificate of `origin` that failed verification.
    func acceptProblems(of origin: Origin) -> Bool {
        all.contains { $0.coordinator.acceptsProblems(of: origin) }
    }

    /// Whether a delegate has supplied a client certificate for `origin`.
    func showIdentity(to origin: Origin) -> Bool {
        all.contains { $0.coordinator.showsIdentity(to: origin) }
    }

    func forgetDecisions() {
        for scope in all { scope.coordinator.forgetAll() }
    }

    private var all: [HandshakeScope] { own + [session].compactMap(\.self) }
}
