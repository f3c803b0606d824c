import Foundation

/// The course of an upload that may be resumed: what the server has, and what its responses mean (draft-ietf-httpbis-resumable-upload §4).
/// A value without side effects; `UploadStep` carries out its verdicts.
struct UploadCourse: Equatable, Sendable {
    /// The kind of the current request.
    enum Stage: Equatable, Sendable {
        /// A request outside this protocol.
        case plain
        /// The upload's own, with the body from its beginning and the offer to resume it.
        case creating
        /// The question how much the server has.
        case asking
        /// The rest of the body, or a piece of it.
        case appending(UploadRest)
    }

    /// What follows from a response, or from the lack of one.
    enum Verdict: Equatable, Sendable {
        /// The response, or the error, is the task's.
        case deliver
        /// The same, and the server has the whole upload; its length in bytes.
        case deliverComplete(Int64)
        /// Ask how much the server has.
        case ask
        /// Send the rest, or its first piece.
        case append
        /// The server has the piece: send the next one.
        case appendNext
        /// Send everything again, by the upload's own request.
        case startOver
        case fail(Fault)
    }

    /// What makes resuming impossible.
    enum Fault: Equatable, Sendable {
        case noOffset
        case offsetBeyondEnd(Int64)
        case offsetBeyondSent(Int64)
        case offsetWentBack(Int64, from: Int64)
        /// The upload is said to be complete, or to have a length, that can't be.
        case contradiction
        /// The server doesn't know the upload any more, and may have processed it.
        case gone(status: Int)
    }

    private(set) var stage = Stage.plain
    /// Where the upload can be resumed; nil until the server has offered it.
    private(set) var resource: UploadResource?
    /// How much the server is known to have, in bytes.
    private(set) var acknowledged: Int64 = 0
    /// Of the whole body, in bytes; nil if unknown.
    private(set) var length: Int64?
    /// The most of the body that the transport has been given: by this task, or by earlier ones that left resume data.
    private(set) var sent: Int64 = 0
    /// How many bytes the task has sent, whatever servers say about them. None counts twice, even if the upload starts over: so this never
    /// exceeds the length of the body.
    private(set) var gained: Int64 = 0
    /// The offset after the last of them.
    private var furthest: Int64 = 0
    /// The offset of the first byte that the current request sends; nil if it sends the whole. It may go on sending after its response.
    private var start: Int64?
    /// The offset after the last byte that the current request has sent.
    private var reached: Int64 = 0
    /// How much a request may append according to the server, in bytes; nil for any number.
    private var limit: Int64?
    /// The most that one may append since the server, or an intermediary, refused more as too large; nil if none has.
    private var tolerated: Int64?
    /// Whether the upload's own request was too large, and none of its pieces has been taken yet. Then resuming isn't offered again.
    private(set) var isRefusedAsWhole = false

    /// If the server refuses rests as too large without saying how much it takes, pieces smaller than this aren't tried.
    private static let smallestPiece: Int64 = 64 * 1024
    /// Whether everything may be sent again though the server may have processed it: the method is idempotent, or the program wants it.
    private(set) var mayRepeat = false

    // MARK: - Requests

    /// Begins a request outside the protocol, or no longer in it.
    mutating func beginPlain() {
        let (gained, furthest, isRefusedAsWhole) = (gained, furthest, isRefusedAsWhole)
        self = UploadCourse()
        (self.gained, self.furthest, self.isRefusedAsWhole) = (gained, furthest, isRefusedAsWhole)
    }

    /// Begins the upload's own request, with a body of `length` bytes.
    mutating func beginCreating(length: Int64?, mayRepeat: Bool) {
        beginPlain()
        (stage, self.length, self.mayRepeat) = (.creating, length, mayRepeat)
    }

    /// Resumes an upload that was interrupted earlier, at `resource`. The program asked for that, so all of it may be sent again.
    ///
    /// - Parameter sent: How much of it earlier tasks sent, as far as known.
    mutating func beginAsking(_ resource: UploadResource, acknowledged: Int64, sent: Int64, length: Int64?) {
        beginPlain()
        (stage, self.resource, self.length, mayRepeat) = (.asking, resource, length, true)
        (self.acknowledged, self.sent) = (acknowledged, max(acknowledged, sent))
    }

    /// The transport has been given `count` bytes of the current request's body. Returns the offset in the whole body at which that request
    /// began; nil if it sends the whole.
    mutating func noteSent(_ count: Int64) -> Int64? {
        let end = (start ?? 0).addingClamped(count)
        sent = max(sent, end)
        reached = end
        if end > furthest {
            gained += end - max(start ?? 0, furthest)
            furthest = end
        }
        return start
    }

    // MARK: - Responses

    /// Notes an informational response to a request for `url`. The first resource offered counts; impossible offsets don't.
    mutating func note(_ head: ResponseHead, to url: URL) {
        guard head.status == 104, head.uploadVersion != nil else { return }
        switch stage {
        case .plain, .asking: return
        case .creating: if resource == nil { resource = UploadResource(offeredBy: head, to: url) }
        case .appending: break
        }
        guard resource != nil else { return }
        noteLimit(head)
        guard let offset = head.uploadOffset, offset <= sent else { return }
        acknowledged = max(acknowledged, offset)
    }

    /// Handles the response to a request for `url`. Redirects and challenges that other steps have acted on don't count.
    mutating func receive(_ head: ResponseHead, to url: URL?) -> Verdict {
        switch stage {
        case .plain:
            return .deliver
        case .creating:
            guard resource != nil else { return delivered() }
            return Self.isMissing(head) || takesPieces(head) ? ask() : delivered()
        case .asking:
            return receiveOffset(head, at: url)
        case .appending(let rest):
            noteLimit(head)
            if head.isUploadComplete == true {
                // The upload can't be complete after a piece that isn't the last.
                return (200...299).contains(head.status) && !rest.isLast ? fail(.contradiction) : delivered()
            }
            switch head.status {
            case 200...299 where !rest.isLast: return appended(rest, head)
            case 409: return ask()
            case 413: return shrink(rest) ? ask() : delivered()
            case 200...299 where head.isUploadComplete == false || isSilenceIncomplete: return ask()
            case 404, 410: return gone(head.status)
            default: return Self.isMissing(head) ? ask() : delivered()
            }
        }
    }

    /// Whether the upload is too large only as a whole: then the response says how much a request may append.
    private mutating func takesPieces(_ head: ResponseHead) -> Bool {
        guard head.status == 413, head.isUploadComplete != true else { return false }
        noteLimit(head)
        guard let limit, let length, limit < length else { return false }
        isRefusedAsWhole = true
        return true
    }

    /// Whether an intermediary has answered, and the upload's own response is missing.
    private static func isMissing(_ head: ResponseHead) -> Bool {
        ReplayPolicy.isTemporary(status: head.status) && head.isUploadComplete != true
    }

    /// Whether a success that doesn't say that the upload is complete means no more than that bytes were appended (draft-09 §4.4).
    private var isSilenceIncomplete: Bool { resource.map { $0.version >= .v8 } ?? false }

    // MARK: - Pieces

    private mutating func noteLimit(_ head: ResponseHead) {
        if let new = head.uploadAppendLimit { limit = new }
    }

    /// The next request sends what follows `offset`. A body of unknown length is sent as a whole: whether a piece is the last would be
    /// known only after its request had begun.
    private mutating func append(from offset: Int64) {
        var rest = UploadRest(from: offset, of: length)
        let most = min(limit ?? .max, tolerated ?? .max)
        if let length = rest.length, length > most { rest.end = offset.addingClamped(most) }
        (stage, start, reached) = (.appending(rest), offset, offset)
    }

    /// The server has taken a piece.
    private mutating func appended(_ piece: UploadRest, _ head: ResponseHead) -> Verdict {
        guard let end = piece.end, reached == end, head.uploadOffset ?? end == end else { return ask() }
        acknowledged = max(acknowledged, end)
        isRefusedAsWhole = false
        append(from: end)
        return .appendNext
    }

    /// A request with `rest` was too large. Returns false if a smaller one makes no sense.
    private mutating func shrink(_ rest: UploadRest) -> Bool {
        guard let length = rest.length, length > Self.smallestPiece else { return false }
        if limit.map({ $0 >= length }) ?? true { tolerated = length / 2 }
        return true
    }

    private mutating func receiveOffset(_ head: ResponseHead, at url: URL?) -> Verdict {
        switch head.status {
        case 200...299: break
        case 404, 410: return gone(head.status)
        case 500...599: return ask()
        default: return isRefusedAsWhole ? startOver() : delivered()
        }
        guard let offset = head.uploadOffset else { return fail(.noOffset) }
        if let length, offset > length { return fail(.offsetBeyondEnd(offset)) }
        // If the end isn't known, nothing else bounds what a server can claim.
        if length == nil, offset > sent { return fail(.offsetBeyondSent(offset)) }
        if offset < acknowledged { return fail(.offsetWentBack(offset, from: acknowledged)) }
        if let length, let announced = head.uploadLength, announced != length { return fail(.contradiction) }
        acknowledged = offset
        noteLimit(head)
        if head.isUploadComplete == true {
            // If the length isn't known, what was sent last is the end.
            guard offset == length ?? sent else { return fail(.contradiction) }
            beginPlain()
            return .deliverComplete(offset)
        }
        // A redirect has led to the resource's new URL.
        if let resource, let url, url != resource.url {
            self.resource = UploadResource(url: url, version: resource.version)
        }
        append(from: offset)
        return .append
    }

    /// The connection was lost, without a response.
    mutating func lost() -> Verdict {
        resource == nil ? .deliver : ask()
    }

    /// The current request may send more until it is ended: `start` still counts.
    private mutating func ask() -> Verdict {
        stage = .asking
        return .ask
    }

    /// There is a response to the upload: nothing is left to be resumed.
    private mutating func delivered() -> Verdict {
        end()
        return .deliver
    }

    private mutating func fail(_ fault: Fault) -> Verdict {
        end()
        return .fail(fault)
    }

    private mutating func end() {
        let start = start
        beginPlain()
        self.start = start
    }

    /// An upload that wasn't sent in full can't have been processed: it starts over.
    private mutating func gone(_ status: Int) -> Verdict {
        let isIncomplete = length.map { sent < $0 } ?? false
        guard mayRepeat || isIncomplete || isRefusedAsWhole else { return fail(.gone(status: status)) }
        return startOver()
    }

    /// If the server has refused the whole and takes no pieces either, this gets its refusal.
    private mutating func startOver() -> Verdict {
        beginPlain()
        return .startOver
    }
}

extension UploadCourse.Fault {
    /// The error of a task whose resource at `url` gave such a response.
    func error(_ url: URL?) -> URLError {
        let text =
            switch self {
            case .noOffset:
                "The server doesn't say how much of the upload it has."
            case .offsetBeyondEnd(let offset):
                "The server says that it has \(offset) bytes of the upload, which are more than there are."
            case .offsetBeyondSent(let offset):
                "The server says that it has \(offset) bytes of the upload, which are more than were sent."
            case .offsetWentBack(let offset, let known):
                "The server says that it has \(offset) bytes of the upload, after it had \(known)."
            case .contradiction:
                "What the server says of the upload's state contradicts itself."
            case .gone(let status):
                "The server doesn't know the upload any more (\(status)), and may have processed it."
            }
        return URLError(.badServerResponse, url: url, text)
    }
}
