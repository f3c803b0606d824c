import CurlTransport
import Foundation

/// The delegate whose decisions a task's TLS handshakes follow.
enum HandshakeDecider {
    /// The session's delegate, for all tasks that it is asked about.
    case session
    /// The task's own delegate, or the object that it stands in for; used only by tasks with the same one. The program may meanwhile give
    /// the task another: then this is the last reference, and it is the loop that lets go of it.
    case task(ReleasedOffLoop<AnyObject>)

    /// nil if there is no delegate to ask. While it is unknown which of two delegates answers, the task's own is assumed.
    init?(_ delegates: AskedDelegates) {
        guard delegates.session != nil || delegates.own != nil else { return nil }
        switch (ChallengeAnswerers.answerer(of: delegates.types), delegates.own) {
        case (.neither, _): return nil
        case (.session, _), (_, nil): self = .session
        case (.task, let own?), (nil, let own?): self.init(own: own)
        }
    }

    /// nil if `delegate` is a deputy with no object to stand in for, and so decides nothing.
    init?(own delegate: any URLSessionDelegate) {
        guard let deputy = delegate as? any HandshakeDeputy else {
            self = .task(ReleasedOffLoop(delegate))
            return
        }
        guard let decider = deputy.handshakeDecider else { return nil }
        self = .task(ReleasedOffLoop(decider))
    }
}

/// A task's delegate that forwards questions to another object. That object may receive those of many tasks, which
/// share its decisions.
package protocol HandshakeDeputy: AnyObject {
    /// nil if there is no object to ask. Any thread.
    var handshakeDecider: AnyObject? { get }
}

/// One decider's decisions in a pool, and the connections made with them. A connection that one delegate accepted is never used for a task
/// whose delegate might not have accepted it.
final class HandshakeScope {
    /// Keeps its scope's decisions for as long as it lives. An object, so that its owner may release it on any thread.
    final class Hold: Sendable {}

    let coordinator = HandshakeCoordinator()
    /// nil for the session's scope, which uses the pool's multi handle, and before the first connection.
    var multi: Multi?
    private let identifier: ObjectIdentifier?
    /// Weak, and needed as well: another object might later get the same address.
    private weak var decider: AnyObject?
    private weak var currentHold: Hold?

    init(of decider: AnyObject? = nil) {
        identifier = decider.map(ObjectIdentifier.init)
        self.decider = decider
    }

    var isOver: Bool { decider == nil }

    /// Doesn't retain any other object, whose last reference that might become.
    func isOf(_ other: AnyObject) -> Bool { identifier == ObjectIdentifier(other) && decider === other }

    /// Whether a task relies on the scope's decisions.
    var isHeld: Bool { currentHold != nil }

    /// Whether the scope's connections have transfers.
    var isBusy: Bool { multi.map { $0.transferCount > 0 } ?? false }

    func hold() -> Hold {
        if let currentHold { return currentHold }
        let hold = Hold()
        currentHold = hold
        return hold
    }
}

/// The scopes of a pool. Loop only.
struct HandshakeScopes {
    /// Created on first use, since most sessions never ask.
    private(set) var session: HandshakeScope?
    /// The scopes of tasks' own delegates, the most recently used last.
    private var own: [HandshakeScope] = []

    /// Beyond this number, the oldest unused scopes are dropped, and their delegates are asked again.
    static let maximumOwn = 16

    /// nil if nothing has been decided yet.
    func existing(of decider: HandshakeDecider) -> HandshakeScope? {
        switch decider {
        case .session: session
        case .task(let delegate): own.first { $0.isOf(delegate.value) }
        }
    }

    mutating func scope(of decider: HandshakeDecider) -> HandshakeScope {
        switch decider {
        case .session:
            let scope = session ?? HandshakeScope()
            session = scope
            return scope
        case .task(let delegate):
            let scope = own.first { $0.isOf(delegate.value) } ?? HandshakeScope(of: delegate.value)
            own.removeAll { $0 === scope }
            own.append(scope)
            return scope
        }
    }

    /// Removes the scopes whose delegates are gone. If there are too many, removes whatever is unused from the oldest:
    /// connections without transfers, and decisions that no task relies on. The caller closes the connections.
    mutating func removeSuperfluous() -> [Multi] {
        guard own.contains(where: \.isOver) || own.count > Self.maximumOwn else { return [] }
        var (living, removed): ([HandshakeScope], [Multi]) = ([], [])
        // Each is checked once: its delegate may be released at any time.
        for scope in own {
            if !scope.isOver {
                living.append(scope)
            } else if let multi = scope.multi {
                removed.append(multi)
            }
        }
        let excess = living.prefix(max(0, living.count - Self.maximumOwn))
        for scope in excess where !scope.isBusy {
            // While a delegate is being asked, the multi handle is empty, but it has descriptors.
            if let multi = scope.multi.take() { removed.append(multi) }
        }
        own = excess.filter { $0.isHeld || $0.isBusy } + living.dropFirst(excess.count)
        return removed
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
