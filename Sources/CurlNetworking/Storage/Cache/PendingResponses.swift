import CurlNetworkingLocks
import Foundation

/// The responses on their way into a cache. One whose request was sent before that of a response stored meanwhile, or before a removal, is
/// outdated and must not be stored. Any thread.
final class PendingResponses: Sendable {
    /// Those for one key.
    private struct Pending {
        var count = 0
        /// Those with a smaller number are outdated.
        var firstCurrent = 0
        /// Whether one was stored since the first of them began, and not removed since.
        var hasStored = false
    }

    private struct State {
        var lastNumber = 0
        /// `updateValue` changes a value without allocating the frames of accessors.
        var pending: [String: Pending] = [:]
    }

    private let state = Mutex(State())

    /// The number of keys with such responses.
    var count: Int { state.withLock { $0.pending.count } }

    /// Begins the response to a request for `key` that is about to be sent.
    func begin(_ key: String) -> PendingResponse {
        let number = state.withLock { state in
            state.lastNumber += 1
            state.pending[key, default: Pending()].count += 1
            return state.lastNumber
        }
        return PendingResponse(key: key, number: number, in: self)
    }

    /// Outdates what is on its way for `key`. Returns true if one that was on its way at the same time has been stored: it is outdated,
    /// too, and the caller should remove it.
    @discardableResult
    func outdate(_ key: String) -> Bool {
        state.withLock { state in
            guard var pending = state.pending[key] else { return false }
            let hasStored = pending.hasStored
            pending.firstCurrent = state.lastNumber + 1
            pending.hasStored = false
            state.pending.updateValue(pending, forKey: key)
            return hasStored
        }
    }

    /// Outdates everything on its way.
    func outdateAll() {
        state.withLock { state in
            let first = state.lastNumber + 1
            state.pending = state.pending.mapValues { pending in
                Pending(count: pending.count, firstCurrent: first, hasStored: pending.hasStored)
            }
        }
    }

    /// See `PendingResponse.store`. The lock is held meanwhile, so that nothing comes in between.
    fileprivate func store<Result: Sendable>(_ key: String, _ number: Int, _ body: () -> Result) -> Result? {
        state.withLock { state in
            guard var pending = state.pending[key], pending.firstCurrent <= number else { return nil }
            pending.firstCurrent = number
            pending.hasStored = true
            state.pending.updateValue(pending, forKey: key)
            return body()
        }
    }

    fileprivate func isCurrent(_ key: String, _ number: Int) -> Bool {
        state.withLock { state in state.pending[key].map { $0.firstCurrent <= number } ?? false }
    }

    fileprivate func end(_ key: String) {
        state.withLock { state in
            guard var pending = state.pending.removeValue(forKey: key), pending.count > 1 else { return }
            pending.count -= 1
            state.pending.updateValue(pending, forKey: key)
        }
    }
}

/// A response on its way into a cache, from its request until it is stored or released.
final class PendingResponse: Sendable {
    let key: String
    /// When its request was sent.
    let requested = Date()
    private let number: Int
    private let responses: PendingResponses

    fileprivate init(key: String, number: Int, in responses: PendingResponses) {
        (self.key, self.number, self.responses) = (key, number, responses)
    }

    deinit {
        responses.end(key)
    }

    /// Calls `body`, which stores the response without waiting, unless it is outdated. Outdates responses to earlier requests. Returns what
    /// `body` does; nil if it isn't called.
    @discardableResult
    func store<Result: Sendable>(_ body: () -> Result) -> Result? { responses.store(key, number, body) }

    /// Whether it isn't outdated: what is stored, if anything, is older.
    var isCurrent: Bool { responses.isCurrent(key, number) }
}
