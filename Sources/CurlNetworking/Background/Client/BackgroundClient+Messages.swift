import CurlNetworkingLocks
import Foundation
import Glibc

// Messages from the agent, on the client's queue.

/// A question of an agent's.
private struct ReceivedQuestion {
    /// Means something only to the agent that asks.
    let number: Int
    /// The task's; nil for a question about a connection.
    let key: UUID?
    let query: ChallengeQuery
    /// To the agent that asks.
    let channel: BackgroundClient.Channel
    /// What the program's storage proposes.
    var proposal: URLCredential?
}

/// A question on its way to a delegate. Any thread.
private final class Inquiry: Sendable {
    private let isAnswered = Mutex(false)
    private let dropped: @Sendable () -> Void

    /// Calls `dropped` if the question is released unanswered.
    init(_ dropped: @escaping @Sendable () -> Void) {
        self.dropped = dropped
    }

    deinit {
        if !isAnswered.withLock({ $0 }) { dropped() }
    }

    func noteAnswer() {
        isAnswered.withLock { $0 = true }
    }
}

extension BackgroundClient {
    func receive(_ message: AgentMessage) {
        switch (message, connection) {
        case (.listing(let listing), .greeting(let greeting, _)):
            greeting.add(listing)
        case (.welcome, .greeting(let greeting, _)):
            connection = .attached(greeting.channel)
            losses.welcomed(at: .now())
            welcome(greeting.listings, greeting.channel)
        case (.refused(let refusal), .greeting(let greeting, _)):
            greeting.channel.close()
            refused(refusal)
        case (.accepted(let key), .attached):
            accept(key)
        case (.progress(let all), .attached):
            for progress in all { tasks.engine(progress.key)?.apply(progress) }
        case (.event(let key, let event), .attached):
            tasks.engine(key)?.apply(event)
        case (.question(let number, let key, let query), .attached(let channel)):
            lookUpProposal(for: ReceivedQuestion(number: number, key: key, query: query, channel: channel))
        case (.ended(let key, let ending), .attached(let channel)):
            losses.forget()
            ended(key, ending, channel)
        case (.checkpoint(let number, let data), .attached):
            checkpoints.answer(number, data)
        case (.renewed(let number), .attached):
            renewals.answer(number, ())
        case (.forgotten(let key), .attached):
            tasks.forget(key)
            closeIfConfirmed()
        default:
            break
        }
    }

    private func refused(_ refusal: Refusal) {
        switch refusal {
        case .inUse(let pid):
            let error = isInUse(by: "process \(pid)")
            // An earlier session of this process is closed, and about to detach from the agent.
            if pid == getpid() { retry(after: error) } else { fail(error) }
        case .version(let version):
            retry(
                after: AgentLauncher.failure(
                    "The agent speaks version \(version) of the protocol, and not \(Hello.currentVersion)."
                )
            )
        case .notNow(let text):
            retry(after: AgentLauncher.failure(text))
        case .other(let text):
            fail(AgentLauncher.failure(text))
        }
    }

    func isInUse(by user: String) -> URLError {
        let text = "The background session \"\(identifier)\" is in use by \(user)."
        return URLError(.backgroundSessionInUseByAnotherProcess, url: nil, text)
    }

    private func welcome(_ listings: [TaskListing], _ channel: Channel) {
        for listing in listings { take(listing, channel) }
        let (lost, new) = tasks.compare(with: Set(listings.map(\.submission.key)))
        for engine in Self.ordered(lost) { engine.fail(AgentLauncher.failure("The agent has lost the task.")) }
        for engine in Self.ordered(new) where !isOver(engine) { submit(engine, channel) }
        for (number, forgets) in renewals.questions { channel.send(.renew(number, forgets: forgets)) }
        attached()
        if life.cancelsTasks { cancelTasks() }
        closeIfConfirmed()
    }

    private static func ordered(_ engines: [BackgroundEngine]) -> [BackgroundEngine] {
        engines.sorted { $0.identifier < $1.identifier }
    }

    func cancelTasks() {
        for engine in tasks.engines { engine.shared.withLock { $0.task }?.cancel() }
    }

    private func take(_ listing: TaskListing, _ channel: Channel) {
        let key = listing.submission.key
        switch tasks[key] {
        case .acknowledged:
            channel.send(.acknowledge(key))
        case .unwanted, .open(_, .unwanted, _):
            drop(key, hasEnded: listing.ending != nil, channel)
        case .open(let engine, _, _):
            accept(key)
            guard !isOver(engine) else { return }
            if engine.intent != listing.submission.intent { sendIntent(of: engine, channel) }
            engine.apply(listing.progress)
            if let ending = listing.ending { engine.end(ending, files: files) }
        case .left:
            break
        case nil:
            restore(listing, channel)
        }
    }

    /// Recreates a task that an earlier program made.
    private func restore(_ listing: TaskListing, _ channel: Channel) {
        guard let core, listing.submission.fault == nil else { return }
        let key = listing.submission.key
        let wanted = listing.submission.identifier
        let isFree = core.isFree(identifier: wanted)
        guard isFree || core.isValid else { return }
        let identifier = isFree ? wanted : core.makeTaskIdentifier()
        core.reserveTaskIdentifiers(through: identifier)
        let engine = BackgroundEngine(identifier: identifier, client: self, in: core, listing: listing)
        let task =
            listing.submission.kind == .download
            ? URLSessionDownloadTask(engine: engine) : URLSessionUploadTask(engine: engine)
        engine.shared.withLock { $0.task = task }
        tasks.restore(engine, key, hasEnded: listing.ending != nil)
        core.activate(engine)
        if let ending = listing.ending { return engine.end(ending, files: files) }
        // The earlier program's delegates no longer decide.
        if engine.intent != listing.submission.intent { sendIntent(of: engine, channel) }
        engine.apply(listing.progress)
    }

    private func ended(_ key: UUID, _ ending: TaskEnding, _ channel: Channel) {
        switch tasks[key] {
        case .unwanted, .open(_, .unwanted, _): drop(key, hasEnded: true, channel)
        // An end that arrives before the task was accepted is a refusal: the agent has no record of it.
        case .open(let engine, _, _): engine.end(ending, files: files)
        case .acknowledged, .left, nil: break
        }
    }

    private func drop(_ key: UUID, hasEnded: Bool, _ channel: Channel) {
        if hasEnded { return _ = channel.send(.acknowledge(key)) }
        let intent = TaskIntent(isSuspended: false, cancellation: .discardingBody, settings: TaskSettings())
        channel.send(.intent(key, intent))
    }

    /// Whether the delegate can still be asked about a task.
    private func canBeAsked(_ engine: BackgroundEngine) -> Bool {
        !isOver(engine) && engine.shared.withLock { $0.machine.cancellation } == nil
    }

    /// Finds what the program's storage proposes, before it is chosen who is asked. The storage may be of the program's own class, and wait
    /// for the session's delegate, which may be waiting for this queue.
    private func lookUpProposal(for question: ReceivedQuestion) {
        guard question.query.admitsProposal, let storage = core?.settings.credentialStorage else {
            return ask(question)
        }
        WorkThreads.blocking.run { [self] in
            var question = question
            question.proposal = storage.matchingDefault(for: question.query.space)
            queue.async { [question] in self.ask(question) }
        }
    }

    private func ask(_ question: ReceivedQuestion) {
        guard case .attached(let current) = connection, current === question.channel else { return }
        let asked: BackgroundEngine?
        if let key = question.key {
            asked = tasks.engine(key).flatMap { canBeAsked($0) ? $0 : nil }
        } else {
            // A question about a connection belongs to no task; the session's delegate is asked on behalf of a task that goes to the
            // server. A delegate that decides only for its own tasks isn't asked for others: if no other task is left, those in question
            // are ending.
            let open = tasks.engines.filter { canBeAsked($0) && $0.deciderName == nil }
            asked = open.first { question.query.isAbout($0.originalRequest) } ?? open.first
        }
        guard let asked else { return }
        let inquiry = Inquiry { [self] in
            queue.async { self.askAnother(than: asked, question) }
        }
        asked.ask(question.query, proposing: question.proposal) { [queue] reply in
            inquiry.noteAnswer()
            queue.async { question.channel.send(.answer(question.number, reply)) }
        }
    }

    /// The question was dropped, perhaps along with a cancelled task's other messages: the agent still waits for an answer.
    private func askAnother(than asked: BackgroundEngine, _ question: ReceivedQuestion) {
        if isOver(asked) { ask(question) }
    }
}
