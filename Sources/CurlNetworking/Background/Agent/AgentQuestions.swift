import Foundation

/// Questions that the program hasn't answered, by their numbers on the wire. A value.
struct AgentQuestions {
    struct Question {
        /// The task that it is about; nil if the answer is for all tasks.
        var key: UUID?
        var query: ChallengeQuery
        var sender: ChallengeSender?
        var answer: @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void

        /// Whether the answer is no longer awaited: the connection was another task's, and that task is over.
        fileprivate var isWithdrawn: Bool { sender?.isWithdrawn == true }
    }

    private var last = 0
    private var unanswered: [Int: Question] = [:]

    /// Returns the question's number.
    mutating func add(_ question: Question) -> Int {
        last += 1
        unanswered[last] = question
        return last
    }

    /// Removes and returns the question; nil if it has been answered, or removed earlier.
    mutating func take(_ number: Int) -> Question? {
        unanswered.removeValue(forKey: number)
    }

    /// The task is over.
    mutating func remove(about key: UUID) {
        unanswered = unanswered.filter { $0.value.key != key && !$0.value.isWithdrawn }
    }

    mutating func removeWithdrawn() {
        unanswered = unanswered.filter { !$0.value.isWithdrawn }
    }

    var ordered: [(number: Int, question: Question)] {
        unanswered.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }
}
