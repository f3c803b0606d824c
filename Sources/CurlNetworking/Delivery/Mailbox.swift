import Foundation

/// What waits to be told to one task's delegate or handler, in order. A value; guarded by its task's lock.
///
/// Whoever posts the first message schedules an operation on the delegate queue. It takes one message, and is followed by another
/// operation where there are more: what the program adds to the queue meanwhile comes in between.
struct Mailbox {
    enum Message {
        case resumed(offset: Int64, expectedTotalBytes: Int64)
        /// Nothing behind it is delivered before it has been answered.
        case response(URLResponse)
        /// Another part of the body begins, which replaces the one before. In order with the body's bytes, and otherwise as a response.
        case part(ResponseHead)
        /// The response's redirect leads to the request; the loop waits for the answer.
        case redirect(HTTPURLResponse, URLRequest, @Sendable (URLRequest?) -> Void)
        /// Somebody asks for a credential; the loop waits for the answer.
        case challenge(ChallengeQuestion)
        case becameDownload(from: URLSessionDataTask)
        /// The loop waits for the answer before it sends anything.
        case needsBodyStream
        case task(TaskMessage)
        case sent(SentBytes)
        case body(Data)
        /// Bytes in the download's file in all.
        case wrote(Int64)
        case resumeData(Data?, @Sendable (Data?) -> Void)
        /// Asked behind the body; nothing waits for the answer.
        case willCache(StoredResponse)
        /// The last message; what the end consists of is then told in its steps.
        case completed
        case end(TaskEnd)
        /// The task's `Progress` is to be brought up to date. Ahead of all others, and whatever holds these up.
        case progress
    }

    /// How much of a request's body has been sent.
    struct SentBytes: Equatable {
        var total: Int64
        var expected: Int64
        /// Which of the task's requests it is, from 1.
        var request: Int
    }

    private var messages: [Message] = []
    private(set) var body = BodyBuffer()
    /// Parts of the body that begin after so many bytes of it.
    private var parts = Fifo<(head: ResponseHead, offset: Int)>()
    private var appendedBytes = 0
    private var takenBytes = 0
    /// Somebody takes messages, or will soon.
    private var isScheduled = false
    private(set) var isAwaitingAnswer = false
    /// Nothing is delivered: something that the owner may look for is still being written.
    private var isHeld = false

    private var isProgressDue = false

    /// Nobody takes messages, and there are none.
    var isIdle: Bool { !isScheduled && !isProgressDue && messages.isEmpty && hasNoBody }

    /// What the delegate was last told of each direction.
    private(set) var reportedSent = SentBytes(total: 0, expected: 0, request: 0)
    private(set) var reportedWritten: Int64 = 0

    /// True when the caller must schedule a delivery. Progress replaces progress that nobody has seen yet.
    mutating func post(_ message: Message) -> Bool {
        switch (messages.last, message) {
        case (.sent, .sent), (.wrote, .wrote): messages[messages.count - 1] = message
        default: messages.append(message)
        }
        return schedule()
    }

    /// Puts `message` ahead of all others; for what the delegate must hear before them.
    mutating func postFirst(_ message: Message) -> Bool {
        messages.insert(message, at: 0)
        return schedule()
    }

    /// Copies body bytes in; see `BodyBuffer.append`.
    mutating func append(_ bytes: UnsafeRawBufferPointer, expected: Int64?) -> (schedules: Bool, isFull: Bool) {
        let isFull = body.append(bytes, expected: expected)
        appendedBytes += bytes.count
        return (schedule(), isFull)
    }

    /// More are not kept for a delegate that falls behind: they are small ones, since the bytes that wait are bounded as well.
    static let mostParts = 16_384
    /// What a part that waits counts for in bytes.
    static let partCost = 1024

    /// The bytes that follow are another part's. nil where too many wait.
    mutating func beginPart(_ head: ResponseHead) -> (schedules: Bool, isFull: Bool)? {
        guard parts.count < Self.mostParts else { return nil }
        parts.append((head, appendedBytes))
        let isFull = body.endPiece(cost: Self.partCost)
        return (schedule(), isFull)
    }

    /// Has the task's `Progress` be brought up to date, once for however many changes.
    mutating func postProgress() -> Bool {
        isProgressDue = true
        return schedule()
    }

    private mutating func schedule() -> Bool {
        guard !isScheduled, hasNext else { return false }
        isScheduled = true
        return true
    }

    private var hasNoBody: Bool { body.isEmpty && parts.isEmpty }

    private var hasNext: Bool {
        isProgressDue || !isAwaitingAnswer && !isHeld && !(messages.isEmpty && hasNoBody)
    }

    /// Keeps back what has not been delivered yet and what comes, until `release`.
    mutating func hold() {
        isHeld = true
    }

    /// True when the caller must schedule a delivery.
    mutating func release() -> Bool {
        isHeld = false
        return schedule()
    }

    /// The next message; nil ends the delivery. Body bytes come before the completion and behind all else.
    mutating func next() -> Message? {
        if isProgressDue {
            isProgressDue = false
            return .progress
        }
        guard !isAwaitingAnswer, !isHeld else { return endDelivery() }
        switch messages.first {
        case .completed where !hasNoBody, .willCache where !hasNoBody, nil:
            return nextOfBody() ?? endDelivery()
        case .some(let message):
            messages.removeFirst()
            note(message)
            return message
        }
    }

    private mutating func nextOfBody() -> Message? {
        if let part = parts.first, part.offset == takenBytes {
            _ = parts.popFirst()
            isAwaitingAnswer = true
            return .part(part.head)
        }
        guard let piece = body.popFirst() else { return nil }
        takenBytes += piece.count
        return .body(piece)
    }

    /// A message has been delivered. True when there is another one, for which the caller must see to an operation.
    mutating func delivered() -> Bool {
        isScheduled = hasNext
        return isScheduled
    }

    /// What the completion, which has been taken, consists of.
    mutating func completes(in steps: [TaskEnd]) {
        messages.insert(contentsOf: steps.map(Message.end), at: 0)
    }

    private mutating func note(_ message: Message) {
        if case .response = message { isAwaitingAnswer = true }
    }

    private mutating func endDelivery() -> Message? {
        isScheduled = false
        return nil
    }

    /// The delegate is about to be told of progress up to `sent`; returns by how much it has grown. Each request begins anew, and so
    /// does a body that is sent again.
    mutating func reportSent(_ sent: SentBytes) -> Int64 {
        defer { reportedSent = sent }
        let isAnew = sent.request != reportedSent.request || sent.total <= reportedSent.total
        return isAnew ? sent.total : sent.total - reportedSent.total
    }

    /// The same for bytes in the download's file, which may have begun anew as well.
    mutating func reportWritten(_ total: Int64) -> Int64 {
        defer { reportedWritten = total }
        return total < reportedWritten ? total : total - reportedWritten
    }

    /// The response has been answered; true when the caller must schedule a delivery.
    mutating func answered() -> Bool {
        guard isAwaitingAnswer else { return false }
        isAwaitingAnswer = false
        return schedule()
    }

    /// The consumer is done with so many body bytes; true when the transfer may go on.
    mutating func consumed(_ count: Int) -> Bool {
        body.consumed(count)
    }

    /// Takes out all body bytes that wait, for a consumer of another kind.
    mutating func takeBody() -> [Data] {
        var pieces: [Data] = []
        while let piece = body.popFirst() { pieces.append(piece) }
        removeBody()
        return pieces
    }

    /// Forgets what the owner of a cancelled task no longer wants to hear: all but the completion and resume data. True
    /// when the caller must schedule a delivery.
    mutating func discard() -> Bool {
        messages.removeAll { message in
            switch message {
            case .completed, .end, .resumeData, .progress: false
            case .needsBodyStream, .task, .resumed, .willCache, .response, .redirect, .challenge: true
            case .becameDownload, .sent, .body, .part, .wrote: true
            }
        }
        removeBody()
        return answered()
    }

    private mutating func removeBody() {
        body.removeAll()
        parts = Fifo()
        takenBytes = appendedBytes
    }
}
