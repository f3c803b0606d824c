import Foundation

/// Where a download goes on, and what the server must still have for that.
struct Resumption: Equatable, Sendable {
    /// In bytes; zero where there is nothing to go on from.
    var offset: Int64
    var validator: Validator
    /// nil where the server hasn't told.
    var completeLength: Int64?

    /// What tells whether the server's representation is still the same (RFC 9110 §8.8).
    enum Validator: Codable, Equatable, Sendable {
        case entityTag(String)
        case lastModified(String)

        var fieldValue: String {
            switch self {
            case .entityTag(let value), .lastModified(let value): value
            }
        }
    }

    /// The fields that ask for the rest, and for nothing but the rest of the same representation (RFC 9110 §13.1.5, §14.2).
    var fields: [HeaderField] {
        guard offset > 0 else { return [] }
        return [
            HeaderField(name: "Range", value: "bytes=\(offset)-"),
            HeaderField(name: "If-Range", value: validator.fieldValue),
            // A range of a coded representation is a range of its code.
            HeaderField(name: "Accept-Encoding", value: "identity"),
        ]
    }
}

/// Whether a download can be resumed, and what the answer to a resuming request means (RFC 9110 §8.8, §14, §15.3.7).
enum ResumePolicy {
    enum Decision: Equatable, Sendable {
        /// The body is the rest, or a part of it up to `end`: append it.
        case append(end: Int64, completeLength: Int64?)
        /// The body is the whole representation: start over with it.
        case startOver
        /// There is no rest: the partial file is complete.
        case complete
        /// The body is of no use: ask again for the whole.
        case askAgain
        /// The response is no download but an answer of its own, as of a server in trouble: deliver it.
        case deliver
    }

    /// What `head`, the answer to a request with `resumption.fields`, means.
    static func decision(for head: ResponseHead, to resumption: Resumption) -> Decision {
        let offset = resumption.offset
        switch head.status {
        case 200:
            return .startOver
        case 206:
            guard offset > 0, let range = head.contentRange, let bytes = range.bytes, bytes.lowerBound == offset,
                hasSameValidator(head, resumption), !head.isContentCoded,
                isSameLength(range.completeLength, resumption.completeLength),
                bytes.upperBound < range.completeLength ?? .max
            else { return .askAgain }
            return .append(
                end: bytes.upperBound + 1,
                completeLength: range.completeLength ?? resumption.completeLength
            )
        case 416:
            guard offset > 0, head.contentRange?.completeLength == offset, hasSameValidator(head, resumption),
                isSameLength(offset, resumption.completeLength)
            else { return .askAgain }
            return .complete
        default:
            return .deliver
        }
    }

    enum Ending: Equatable, Sendable {
        case complete
        /// The server has sent a part of the rest, as it may.
        case askForRest
        /// It has sent more than there is: nothing of it can be trusted.
        case askAgain
        /// It has sent nothing of what it announced.
        case fail
    }

    /// What it means that an appended body was over when the file was `length` bytes long.
    static func ending(at length: Int64, from offset: Int64, end: Int64, completeLength: Int64?) -> Ending {
        let expected = completeLength ?? end
        if length == expected { return .complete }
        if length > expected { return .askAgain }
        return length > offset ? .askForRest : .fail
    }

    private static func isSameLength(_ a: Int64?, _ b: Int64?) -> Bool {
        guard let a, let b else { return true }
        return a == b
    }

    /// A server need not repeat the validator, but must not name another.
    private static func hasSameValidator(_ head: ResponseHead, _ resumption: Resumption) -> Bool {
        switch resumption.validator {
        case .entityTag(let tag): head["ETag"].map { $0 == tag } ?? true
        case .lastModified(let date): head["Last-Modified"].map { $0 == date } ?? true
        }
    }

    /// What a later request can be validated with, if the answer `head` to `request` can be resumed at all.
    static func validator(of head: ResponseHead, to request: URLRequest) -> Resumption.Validator? {
        guard request.httpMethod ?? "GET" == "GET", request.value(forHTTPHeaderField: "Range") == nil,
            head.status == 200 || head.status == 206, !head.isContentCoded,
            head["Accept-Ranges"]?.isEqualIgnoringASCIICase(to: "none") != true
        else { return nil }
        // A weak tag doesn't promise the same bytes.
        if let tag = head["ETag"], tag.hasPrefix("\""), tag.hasSuffix("\""), tag.count >= 2 { return .entityTag(tag) }
        if let date = head["Last-Modified"], isStrong(lastModified: date, sent: head["Date"]) {
            return .lastModified(date)
        }
        return nil
    }

    /// A representation that changed in the very second it was sent may change again in that second (RFC 9110 §8.8.2.2).
    private static func isStrong(lastModified: String, sent: String?) -> Bool {
        guard let modified = HTTPDate.parse(lastModified) else { return false }
        guard let sent = sent.flatMap(HTTPDate.parse) else { return true }
        return sent.timeIntervalSince(modified) >= 1
    }
}
