/// Questions that the agent hasn't answered, by their numbers on the wire. A value.
struct PendingAnswers<Question: Sendable, Answer> {
    private var last = 0
    private var waiting: [Int: (question: Question, completion: @Sendable (Answer) -> Void)] = [:]

    /// Returns the question's number.
    mutating func add(_ question: Question, _ completion: @escaping @Sendable (Answer) -> Void) -> Int {
        last += 1
        waiting[last] = (question, completion)
        return last
    }

    /// In order.
    var questions: [(number: Int, question: Question)] {
        waiting.sorted { $0.key < $1.key }.map { ($0.key, $0.value.question) }
    }

    mutating func answer(_ number: Int, _ answer: Answer) {
        waiting.removeValue(forKey: number)?.completion(answer)
    }

    /// Gives every question this answer, as the agent will give none.
    mutating func end(with answer: Answer) {
        let ended = waiting
        waiting = [:]
        for (_, question) in ended { question.completion(answer) }
    }
}
