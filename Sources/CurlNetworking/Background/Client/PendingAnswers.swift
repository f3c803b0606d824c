import Foundation

// What a program waits for its agent to answer. Values.

/// Questions for resume data that the agent hasn't answered.
struct PendingCheckpoints {
    private var last = 0
    private var completions: [Int: @Sendable (Data?) -> Void] = [:]

    /// The question's number.
    mutating func add(_ completion: @escaping @Sendable (Data?) -> Void) -> Int {
        last += 1
        completions[last] = completion
        return last
    }

    mutating func answer(_ number: Int, _ data: Data?) {
        completions.removeValue(forKey: number)?(data)
    }

    /// There will be no answers.
    mutating func end() {
        for completion in completions.values { completion(nil) }
        completions = [:]
    }
}

/// Requests to renew connections that no agent has confirmed.
struct PendingRenewals {
    private var last = 0
    private var waiting: [Int: (forgets: Bool, completion: @Sendable () -> Void)] = [:]

    mutating func add(_ forgets: Bool, _ completion: @escaping @Sendable () -> Void) -> ClientMessage {
        last += 1
        waiting[last] = (forgets, completion)
        return .renew(last, forgets: forgets)
    }

    /// For an agent that has just been attached to.
    var messages: [ClientMessage] {
        waiting.sorted { $0.key < $1.key }.map { .renew($0.key, forgets: $0.value.forgets) }
    }

    mutating func confirm(_ number: Int) {
        waiting.removeValue(forKey: number)?.completion()
    }

    /// There is no agent that has anything to renew.
    mutating func end() {
        let ended = waiting
        waiting = [:]
        for (_, renewal) in ended { renewal.completion() }
    }
}
