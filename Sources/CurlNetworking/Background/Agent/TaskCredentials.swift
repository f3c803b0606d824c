import Foundation

/// What one task's requests identify themselves with, in all attempts of this agent, and never another task's. Used only on the agent's
/// queue.
final class TaskCredentials {
    /// The program's for the request, and those set by the task's own responses.
    let cookies: TaskCookies
    /// What the delegate answered for this task alone. Never recorded.
    private var replies: [ChallengeQuery.Place: ChallengeReply] = [:]

    init(_ cookies: [StoredCookie]) {
        self.cookies = TaskCookies(cookies)
    }

    /// The credential with which an earlier attempt answered, unless it was refused in this one.
    func reply(to query: ChallengeQuery) -> ChallengeReply? {
        query.previousFailureCount == 0 ? replies[query.place] : nil
    }

    func note(_ reply: ChallengeReply, to query: ChallengeQuery) {
        replies[query.place] = reply.isForTask ? reply : nil
    }

    /// Later requests go without them. `completion` is called on another queue.
    func removeAll(_ completion: @escaping @Sendable () -> Void) {
        replies = [:]
        cookies.removeAll(completion)
    }
}
