import Foundation

/// The questions of a background session's transfers, which its program answers. Used only on the agent's queue.
final class AgentQuestions {
    private struct Question {
        /// The task that it is about; nil if the answer is for all tasks.
        var key: UUID?
        var query: ChallengeQuery
        var sender: ChallengeSender?
        var answer: @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void

        /// Whether the answer is no longer awaited: the connection was another task's, and that task is over.
        var isWithdrawn: Bool { sender?.isWithdrawn == true }
    }

    private unowned let session: AgentSession
    private var last = 0
    /// Those that the program hasn't answered, by their numbers on the wire.
    private var unanswered: [Int: Question] = [:]

    init(of session: AgentSession) {
        self.session = session
    }

    /// Asks the program; if none is attached, waits for one.
    ///
    /// - Parameter decidesAlone: Whether the answer is only for tasks with the same delegate. Otherwise one about a handshake is for all
    ///   tasks, and the question belongs to none.
    func ask(
        _ challenge: URLAuthenticationChallenge,
        about task: URLSessionTask,
        decidesAlone: Bool,
        _ answer: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        let query = ChallengeQuery(challenge)
        let isForAll = query.isOfHandshake && !decidesAlone
        if isForAll, session.record.answersChallenges == false { return answer(.performDefaultHandling, nil) }
        let own = isForAll ? nil : session.transfers.key(of: task)
        guard isForAll || own != nil else { return answer(.cancelAuthenticationChallenge, nil) }
        if let (disposition, credential) = own.flatMap({ session.tasks[$0]?.credentials.reply(to: query)?.answer }) {
            return answer(disposition, credential)
        }
        last += 1
        let sender = challenge.sender as? ChallengeSender
        unanswered[last] = Question(key: own, query: query, sender: sender, answer: answer)
        if !session.isAttached { session.log("a question about \(query.host) waits for the program") }
        session.send(.question(last, key: own, query))
    }

    /// Asks a program that has just attached what is still open.
    func repeatAll(on channel: AgentSession.Channel) {
        removeWithdrawn()
        for (number, question) in unanswered.sorted(by: { $0.key < $1.key }) {
            channel.send(.question(number, key: question.key, question.query))
        }
    }

    /// Does nothing if the question has been answered, or is about a task that is over.
    func answer(_ number: Int, _ reply: ChallengeReply) {
        guard let question = unanswered.removeValue(forKey: number) else { return }
        if question.key == nil, session.record.answersChallenges != reply.isOfDelegate {
            session.change { $0.answersChallenges = reply.isOfDelegate }
        }
        if let key = question.key { session.tasks[key]?.credentials.note(reply, to: question.query) }
        let (disposition, credential) = reply.answer
        question.answer(disposition, credential)
    }

    /// The task is over.
    func remove(about key: UUID) {
        unanswered = unanswered.filter { $0.value.key != key }
        removeWithdrawn()
    }

    private func removeWithdrawn() {
        unanswered = unanswered.filter { !$0.value.isWithdrawn }
    }
}
