import CurlNetworkingLocks
import Foundation

/// Which of two delegates, the session's and a task's own, answers challenges about connections. It depends only on which methods their
/// types implement, so it is cached for the process. Any thread.
enum ChallengeAnswerers {
    enum Answerer: Sendable {
        /// Neither implements a method: don't ask again.
        case neither
        case session
        case task
    }

    struct Pair: Hashable, Sendable {
        fileprivate let session: ObjectIdentifier?
        private let task: ObjectIdentifier?

        init(session: (any URLSessionDelegate)?, task: (any URLSessionDelegate)?) {
            self.session = session.map { ObjectIdentifier(type(of: $0)) }
            self.task = task.map { ObjectIdentifier(type(of: $0)) }
        }
    }

    private struct Known {
        var pairs: [Pair: Answerer] = [:]
        /// The types of sessions' delegates that have the session's method: it takes precedence over those of all tasks' delegates.
        var deciding: Set<ObjectIdentifier> = []
    }

    private static let known = Mutex(Known())

    static func answerer(of pair: Pair) -> Answerer? {
        known.withLock { known in
            known.pairs[pair] ?? pair.session.flatMap { known.deciding.contains($0) ? .session : nil }
        }
    }

    /// Notes which delegate answered. A session's delegate without the session's method is known to lack it by then.
    static func note(_ answerer: Answerer, of pair: Pair) {
        let deciding = pair.session.flatMap { type in
            answerer == .session && !MissingMethods.contains(.sessionChallenge, ofType: type) ? type : nil
        }
        known.withLock { known in
            known.pairs[pair] = answerer
            if let deciding { known.deciding.insert(deciding) }
        }
    }
}

/// The delegates asked about a task's connections.
struct AskedDelegates {
    let session: (any URLSessionDelegate)?
    /// The task's; nil if it is the session's, or there is none.
    let own: (any URLSessionDelegate)?

    init(of task: DelegateSet, _ session: DelegateSet) {
        self.session = session.base
        own = task.base === session.base ? nil : task.base
    }

    var types: ChallengeAnswerers.Pair { ChallengeAnswerers.Pair(session: session, task: own) }
}
