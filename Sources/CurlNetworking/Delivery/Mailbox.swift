import Foundation

/// The messages waiting for one task's delegate or handler, in order. A value, guarded by its task's lock.
///
/// After a change, the owner calls `claimDelivery()`: the first message schedules an operation on the delegate queue. The operation takes
/// one message; if there are more, another operation follows. So operations that the program adds meanwhile run in between.
struct Mailbox {
    enum Message {
        case event(TaskEvent)
        case question(TaskQuestion)
        /// Asks whether the response is wanted. Nothing after it is delivered until it is answered.
        case disposition(of: TaskResponse)
        /// Another part of the body begins, replacing the previous one. Delivered in order with the body's bytes; otherwise like a
        /// response.
        case partDisposition(of: PartHead)
        case resumeData(Data?, @Sendable (Data?) -> Void)
        /// Hands the program what it asked for, before the completion. Cancellation doesn't drop it.
        case call(CallKind, @Sendable () -> Void)
        /// The last message, which the steps of the end replace.
        case completed
        case end(TaskEnd)
        /// The task's `Progress` needs an update. Delivered ahead of all others, even while those are held.
        case progress
    }

    /// What a call hands the program.
    enum CallKind {
        case result
        /// A web socket's message. If the task is suspended, and its end is next, it waits with that.
        case message
        /// The error of a web socket that is over; comes after all results.
        case failure
    }

    private enum State {
        case open
        /// The delegate is being asked about a response, and nothing is delivered before its answer.
        case awaitingAnswer
        /// The owner only wants what `discard` keeps.
        case discarded
    }

    /// What the program's suspensions of the task hold back.
    private enum Suspension {
        case none
        /// The body and what comes after it wait.
        case holdsBody
        /// Nothing waits any more: the program wants to close its web socket, which ends even a suspended task.
        case over
    }

    private var messages = Fifo<Message>()
    /// The messages of the end, which come after all others and the body.
    private var lastMessages = Fifo<Message>()
    /// Questions that one delegate method didn't answer, for the next method.
    private var passedOn = Fifo<@Sendable () -> Void>()
    /// How many of `messages` are informational responses.
    private var informationalCount = 0
    private(set) var body = BodyBuffer()
    /// Undelivered parts of the body, with their offsets in it.
    private var parts = Fifo<(head: PartHead, offset: Int)>()
    private var appendedBytes = 0
    private var takenBytes = 0
    /// Whether a delivery is running or scheduled.
    private var isScheduled = false
    private var state = State.open
    /// Whether nothing is delivered, because cookies that the owner may look for are still being written.
    private var isHeld = false
    private var suspension = Suspension.none
    /// How many callers may still have to be told something before the completion.
    private var completionHolds = 0

    private var isProgressDue = false
    /// Whether the delegate hears, or has heard, how the web socket was closed, and so that the task succeeds.
    private(set) var hasToldOfClose = false

    var isAwaitingAnswer: Bool { state == .awaitingAnswer }

    /// Whether the delegate is being asked about a response or a part, or has yet to be.
    var owesAnswer: Bool {
        isAwaitingAnswer || !parts.isEmpty
            || messages.contains { if case .disposition = $0 { true } else { false } }
    }

    /// Whether no delivery is scheduled, and no message waits.
    var isIdle: Bool { !isScheduled && !isProgressDue && passedOn.isEmpty && hasNoMessage && hasNoBody }

    /// True if the caller must schedule a delivery: something can be delivered, and no delivery is scheduled.
    mutating func claimDelivery() -> Bool {
        guard !isScheduled, hasNext else { return false }
        isScheduled = true
        return true
    }

    /// Byte counts replace earlier, undelivered ones. The caller holds the message beyond the task's lock: it may be dropped.
    mutating func post(_ message: Message) {
        guard takes(message) else { return }
        if case .event(.informational) = message {
            if informationalCount == Self.maximumInformational { dropInformational() }
            informationalCount += 1
        }
        if message.isLast { lastMessages.add(message) } else { messages.add(message) }
    }

    /// The most informational responses that may wait. During a large upload, a server may send more than any delegate can be told of; when
    /// another arrives, the older half is dropped.
    static let maximumInformational = 128

    private mutating func dropInformational() {
        let kept = informationalCount / 2
        var rest = Fifo<Message>()
        while let message = messages.popFirst() {
            if case .event(.informational) = message, informationalCount > kept {
                informationalCount -= 1
            } else {
                rest.add(message)
            }
        }
        messages = rest
    }

    /// Puts `message`, which the delegate must hear first, ahead of all others.
    mutating func postFirst(_ message: Message) {
        if takes(message) { messages.prepend(contentsOf: CollectionOfOne(message)) }
    }

    /// Schedules `question` for its own turn, before anything else and in every state: the other messages may be waiting for its answer.
    mutating func passOn(_ question: @escaping @Sendable () -> Void) {
        passedOn.append(question)
    }

    private func takes(_ message: Message) -> Bool { state != .discarded || message.outlivesCancellation }

    /// Copies body bytes in. True if the transfer should pause; see `BodyBuffer.append`.
    mutating func append(_ bytes: UnsafeRawBufferPointer, expected: Int64?) -> Bool {
        guard state != .discarded else { return false }
        appendedBytes += bytes.count
        return body.append(bytes, expected: expected)
    }

    /// No part begins while this much or more waits, in bytes. Only very small parts, or parts with very many fields, reach it before the
    /// transfer pauses.
    static let maximumBeforePart = 16 << 20

    /// The bytes that follow belong to another part. True if the transfer should pause; nil if too much waits.
    mutating func beginPart(_ head: PartHead) -> Bool? {
        guard state != .discarded else { return false }
        guard body.waitingBytes < Self.maximumBeforePart else { return nil }
        parts.append((head, appendedBytes))
        return body.endPiece(cost: head.cost)
    }

    /// Has the task's `Progress` updated, once for any number of changes.
    mutating func postProgress() {
        isProgressDue = true
    }

    private var hasNoBody: Bool { body.isEmpty && parts.isEmpty }
    private var hasNoMessage: Bool { messages.isEmpty && lastMessages.isEmpty }

    private var hasNext: Bool {
        isProgressDue || !passedOn.isEmpty
            || !isAwaitingAnswer && !isHeld && (hasDueMessage || hasDueBody || hasDueLastMessage)
    }

    private var isBodyHeld: Bool { suspension == .holdsBody }

    private var hasDueBody: Bool { !isBodyHeld && !hasNoBody }

    /// Whether the next message need not wait. What comes after the body waits with it.
    private var hasDueMessage: Bool {
        switch messages.first {
        case .question(.willCache): hasNoBody
        case .call(.message, _): !holdsMessages
        case .some: true
        case nil: false
        }
    }

    /// Whether a web socket's messages wait: the task is suspended but not cancelled, and its end is next.
    private var holdsMessages: Bool {
        guard isBodyHeld, state != .discarded else { return false }
        if case .completed = lastMessages.last { return true }
        if case .event(.closedWebSocket) = lastMessages.first { return true }
        return false
    }

    /// The same for the messages of the end.
    private var hasDueLastMessage: Bool {
        guard !lastMessages.isEmpty, messages.isEmpty, hasNoBody else { return false }
        return switch lastMessages.first {
        case .completed: completionHolds == 0
        case .some: true
        case nil: false
        }
    }

    /// Holds all messages, including later ones, until `release`.
    mutating func hold() {
        isHeld = true
    }

    mutating func release() {
        isHeld = false
    }

    /// The program has suspended or resumed the task.
    mutating func setSuspended(_ isSuspended: Bool) {
        if suspension != .over { suspension = isSuspended ? .holdsBody : .none }
    }

    /// The program wants to close its web socket.
    mutating func noteClosing() {
        suspension = .over
    }

    /// Holds the completion until a matching call of `releaseCompletion`.
    mutating func holdCompletion() {
        completionHolds += 1
    }

    mutating func releaseCompletion() {
        completionHolds -= 1
    }

    /// The next message; nil ends the delivery. Body bytes come before the completion and after everything else.
    mutating func next() -> Message? {
        if isProgressDue {
            isProgressDue = false
            return .progress
        }
        if let question = passedOn.popFirst() { return .call(.result, question) }
        guard !isAwaitingAnswer, !isHeld else { return endDelivery() }
        if hasDueMessage, let message = messages.popFirst() {
            note(message)
            return message
        }
        if let piece = nextOfBody() { return piece }
        guard hasDueLastMessage, let message = lastMessages.popFirst() else { return endDelivery() }
        if case .event(.closedWebSocket) = message { hasToldOfClose = true }
        return message
    }

    private mutating func nextOfBody() -> Message? {
        guard !isBodyHeld else { return nil }
        if let part = parts.first, part.offset == takenBytes {
            _ = parts.popFirst()
            state = .awaitingAnswer
            return .partDisposition(of: part.head)
        }
        guard let piece = body.popFirst() else { return nil }
        takenBytes += piece.count
        return .event(.body(piece))
    }

    /// A message has been delivered. Returns true if there is another, for which the caller must add an operation.
    mutating func delivered() -> Bool {
        isScheduled = hasNext
        return isScheduled
    }

    /// Adds the steps that follow the first one of the completion, which has been taken.
    mutating func goesOn(with steps: some Collection<TaskEnd>) {
        messages.prepend(contentsOf: steps.map(Message.end))
    }

    private mutating func note(_ message: Message) {
        switch message {
        case .disposition: state = .awaitingAnswer
        case .event(.informational): informationalCount -= 1
        default: break
        }
    }

    private mutating func endDelivery() -> Message? {
        isScheduled = false
        return nil
    }

    /// The delegate has answered about the response.
    mutating func answered() {
        if isAwaitingAnswer { state = .open }
    }

    /// The consumer has finished with `count` body bytes. Returns true if the transfer may resume.
    mutating func consumed(_ count: Int) -> Bool {
        body.consumed(count)
    }

    /// Removes and returns all waiting body bytes, for another kind of consumer.
    mutating func takeBody() -> [Data] {
        var pieces: [Data] = []
        while let piece = body.popFirst() { pieces.append(piece) }
        removeBody()
        return pieces
    }

    /// Withdraws the completion, to be replaced later.
    mutating func takeCompletion() {
        lastMessages.removeAll { if case .completed = $0 { true } else { false } }
    }

    /// Drops everything the owner of a cancelled task no longer wants: all but the completion, resume data, captured streams and what the
    /// task has become. Later messages are dropped, too: their posters may not know of the cancellation yet.
    mutating func discard() -> Discarded {
        var dropped: [Message] = []
        func drops(_ message: Message) -> Bool {
            if message.outlivesCancellation { return false }
            dropped.append(message)
            return true
        }
        messages.removeAll(where: drops)
        lastMessages.removeAll(where: drops)
        informationalCount = 0
        removeBody()
        state = .discarded
        return Discarded(messages: dropped, schedules: claimDelivery())
    }

    /// Messages that are no longer wanted. Released without the task's lock: they may contain the program's own objects, whose `deinit` may
    /// look at the task.
    struct Discarded {
        /// In no particular order.
        fileprivate(set) var messages: [Message] = []
        /// Whether the caller must schedule a delivery of what was kept.
        fileprivate(set) var schedules = false
    }

    /// Stops waiting for the response's disposition, if the delegate was asked for it: the task is about to fail, and what follows the
    /// response is of no use.
    mutating func giveUpAnswer() -> Discarded {
        isAwaitingAnswer ? discard() : Discarded()
    }

    private mutating func removeBody() {
        body.removeAll()
        parts = Fifo()
        takenBytes = appendedBytes
    }
}

extension Mailbox.Message {
    /// Whether it comes after all messages that aren't, even later ones, and after the body.
    fileprivate var isLast: Bool {
        switch self {
        case .completed, .call(.failure, _), .event(.closedWebSocket): true
        case .event, .question, .disposition, .partDisposition, .resumeData, .call, .end, .progress: false
        }
    }

    /// Whether the owner of a cancelled task still gets it.
    fileprivate var outlivesCancellation: Bool {
        switch self {
        case .completed, .end, .resumeData, .call, .progress: true
        // A captured connection belongs to the program, and no other message follows it.
        case .event(.captured): true
        // The completion is about the new task.
        case .event(.becameDownload), .event(.becameStream): true
        case .event, .question, .disposition, .partDisposition: false
        }
    }
}

extension Fifo<Mailbox.Message> {
    /// Appends a message, or replaces the last one with it if both are byte counts of the same kind. A count of zero, which says that a
    /// file starts over, stays. A failed call goes ahead of the completion.
    fileprivate mutating func add(_ message: Mailbox.Message) {
        switch (last, message) {
        case (.event(.sent), .event(.sent)): updateLast { $0 = message }
        case (.event(.wrote(let total)), .event(.wrote)) where total > 0: updateLast { $0 = message }
        case (.completed, .call):
            updateLast { $0 = message }
            append(.completed)
        default: append(message)
        }
    }
}
