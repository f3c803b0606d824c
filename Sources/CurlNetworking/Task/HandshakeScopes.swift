import Curl
import Foundation
import Locks

/// Whose word a task's TLS handshakes go by.
enum HandshakeDecider {
    /// The session's delegate's: for all tasks that it is asked about.
    case session
    /// The task's own delegate's: for the tasks that it belongs to, and for no other.
    case task(any URLSessionDelegate)
}

/// What a lane's tasks know and use by the word of one decider: its decisions, and the connections made by them. What one delegate has let
/// in is never used for a task whose delegate might not have.
final class HandshakeScope {
    let desk = HandshakeDesk()
    /// nil for the session's scope, which uses the lane's own, and before the first connection.
    var multi: Multi?
    /// Held weakly: another object may come to have the same address, and is not the same delegate.
    private weak var delegate: (any URLSessionDelegate)?

    init(of delegate: (any URLSessionDelegate)? = nil) {
        self.delegate = delegate
    }

    var isOver: Bool { delegate == nil }

    func isOf(_ other: any URLSessionDelegate) -> Bool { delegate === other }
}

/// The scopes of a lane. Loop only.
struct HandshakeScopes {
    /// Made when first needed: most sessions never ask.
    private(set) var session: HandshakeScope?
    /// Those of tasks' own delegates, the one used last at the end.
    private var own: [HandshakeScope] = []

    /// More delegates than these that let connections in have the oldest asked again.
    private static let maximumOwn = 16

    /// nil where nothing has been decided yet.
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

    /// Takes out the scopes that nobody can come back to, or that are too many; their connections are the caller's to close.
    mutating func removeSuperfluous() -> [Multi] {
        guard own.contains(where: \.isOver) || own.count > Self.maximumOwn else { return [] }
        var removed = own.filter(\.isOver)
        own.removeAll(where: \.isOver)
        removed += own.prefix(max(0, own.count - Self.maximumOwn))
        own.removeFirst(max(0, own.count - Self.maximumOwn))
        return removed.compactMap(\.multi)
    }

    /// Takes out all connections; the caller closes them, or lets them come to their end.
    func takeMultis() -> [Multi] {
        own.compactMap { $0.multi.take() }
    }

    var multis: [Multi] { own.compactMap(\.multi) }

    /// Whether somebody has accepted a certificate of `origin`'s that verification had turned down.
    func acceptProblems(of origin: Origin) -> Bool {
        (own + [session].compactMap(\.self)).contains { $0.desk.acceptsProblems(of: origin) }
    }

    func forgetDecisions() {
        for scope in own + [session].compactMap(\.self) { scope.desk.forgetAll() }
    }
}

/// Which of two delegates, the session's and a task's own, turns out to answer challenges about connections. That depends on their types
/// alone, by which methods they implement, and so is remembered for the process. Any thread.
enum ChallengeHabits {
    enum Answerer: Sendable {
        /// Neither implements a method: asking them again is of no use.
        case nobody
        case session
        case task
    }

    struct Pair: Hashable, Sendable {
        private let session: ObjectIdentifier?
        private let task: ObjectIdentifier?

        init(session: (any URLSessionDelegate)?, task: (any URLSessionDelegate)?) {
            self.session = session.map { ObjectIdentifier(type(of: $0)) }
            self.task = task.map { ObjectIdentifier(type(of: $0)) }
        }
    }

    private static let known = Mutex<[Pair: Answerer]>([:])

    static func answerer(of pair: Pair) -> Answerer? {
        known.withLock { $0[pair] }
    }

    static func note(_ answerer: Answerer, of pair: Pair) {
        known.withLock { $0[pair] = answerer }
    }
}
