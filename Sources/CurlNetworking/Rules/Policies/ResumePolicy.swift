import CurlTransport
import Foundation

/// What a server has, described well enough to request the rest of it later.
struct Representation: Equatable, Sendable {
    var validator: Resumption.Validator
    /// In bytes; nil if the server hasn't said.
    var completeLength: Int64?
}

/// Where a download continues, and which representation the server must still have.
struct Resumption: Equatable, Sendable {
    /// In bytes; zero to start from the beginning.
    var offset: Int64
    var validator: Validator
    /// nil if the server hasn't said.
    var completeLength: Int64?
    /// Whether this task has already appended a part. A server that doesn't know the length can only say that there is no more.
    var followsPart = false

    /// Identifies the server's representation (RFC 9110 §8.8).
    enum Validator: Codable, Equatable, Sendable {
        case entityTag(String)
        case lastModified(String)

        var fieldValue: String {
            switch self {
            case .entityTag(let value), .lastModified(let value): value
            }
        }
    }

    /// The fields that request the rest of the same representation (RFC 9110 §13.1.5, §14.2).
    var fields: [HeaderField] {
        guard offset > 0 else { return [] }
        return [
            HeaderField(name: "Range", value: "bytes=\(offset)-"),
            HeaderField(name: "If-Range", value: validator.fieldValue),
            // A range of a coded representation is one of the coded bytes.
            HeaderField(name: "Accept-Encoding", value: ContentCoding.noCoding),
        ]
    }
}

/// Whether a download can be resumed, and what the response to a resuming request means (RFC 9110 §8.8, §14, §15.3.7).
enum ResumePolicy {
    enum Decision: Equatable, Sendable {
        /// The body is the rest, or a part of it up to `end` (exclusive): append it.
        case append(end: Int64, completeLength: Int64?)
        /// The body is the whole representation: replace the file's content.
        case startOver
        /// There is nothing left: the partial file is complete.
        case complete
        /// The body is useless: request the whole representation again.
        case askAgain
        /// The response is something else, such as a server error: deliver it.
        case deliver
    }

    /// What `head` means in response to a request with `resumption.fields`.
    static func decision(for head: ResponseHead, to resumption: Resumption) -> Decision {
        let offset = resumption.offset
        switch head.status {
        case 200:
            return .startOver
        case 206:
            guard offset > 0, let range = head.contentRange, let bytes = range.bytes, bytes.lowerBound == offset,
                hasSameValidator(head, resumption), head.namedCoding == .none,
                isSameLength(range.completeLength, resumption.completeLength),
                bytes.upperBound < range.completeLength ?? .max
            else { return .askAgain }
            return .append(
                end: bytes.upperBound + 1,
                completeLength: range.completeLength ?? resumption.completeLength
            )
        case 416:
            let length = head.contentRange?.completeLength ?? (resumption.followsPart ? offset : nil)
            guard offset > 0, length == offset, hasSameValidator(head, resumption),
                isSameLength(offset, resumption.completeLength)
            else { return .askAgain }
            return .complete
        default:
            return .deliver
        }
    }

    enum Ending: Equatable, Sendable {
        case complete
        /// The server sent a part of the rest, as it may.
        case askForRest
        /// It sent more than it announced: none of it can be trusted.
        case askAgain
        /// It sent nothing of what it announced.
        case fail
    }

    /// What to do if an appended body ended when the file had `length` bytes.
    static func ending(at length: Int64, from offset: Int64, end: Int64, completeLength: Int64?) -> Ending {
        if length > min(end, completeLength ?? end) { return .askAgain }
        if length == completeLength { return .complete }
        return length > offset ? .askForRest : .fail
    }

    private static func isSameLength(_ a: Int64?, _ b: Int64?) -> Bool {
        guard let a, let b else { return true }
        return a == b
    }

    /// A server need not repeat the validator, but must not send another: it was asked for the rest of this representation alone. An FTP
    /// server wasn't, so it has to. A response that was validated by its date had no tag.
    private static func hasSameValidator(_ head: ResponseHead, _ resumption: Resumption) -> Bool {
        switch resumption.validator {
        case .entityTag(let tag): head["ETag"].map(tag.hasSameBytes) ?? true
        case .lastModified(let date):
            head["ETag"] == nil && head["Last-Modified"].map(date.hasSameBytes) ?? !head.isOfFTP
        }
    }

    /// Whether resume data can hold all of a task's request: it has no place for a body.
    static func canRepeat(_ request: URLRequest) -> Bool {
        !request.hasContent
    }

    /// What to resume with later, once some of the body after `head` has arrived; nil if the download can't be resumed: the request, or the
    /// session with its `additional` fields, asks for only a part, or the body doesn't begin at the first byte.
    static func representation(
        of head: ResponseHead,
        to request: URLRequest,
        adding additional: [HeaderField]
    ) -> Representation? {
        guard request.httpMethod ?? "GET" == "GET", request.value(forHTTPHeaderField: "Range") == nil,
            !additional.contains(where: { $0.name.isEqualIgnoringASCIICase(to: "Range") }), head.namedCoding == .none,
            head["Accept-Ranges"]?.isEqualIgnoringASCIICase(to: "none") != true,
            let validator = validator(of: head)
        else { return nil }
        switch head.status {
        case 200:
            return Representation(validator: validator, completeLength: head.contentLength)
        case 206:
            // No part was requested. Its own length isn't the representation's.
            guard let range = head.contentRange, range.bytes?.lowerBound == 0 else { return nil }
            return Representation(validator: validator, completeLength: range.completeLength)
        default:
            return nil
        }
    }

    private static func validator(of head: ResponseHead) -> Resumption.Validator? {
        if let tag = head["ETag"] { return isStrong(tag: tag) ? .entityTag(tag) : nil }
        guard let date = head["Last-Modified"], isStrong(lastModified: date, of: head) else { return nil }
        return .lastModified(date)
    }

    /// A weak tag doesn't promise the same bytes. If there is one, a date must not be sent in its place (RFC 9110 §13.1.5).
    private static func isStrong(tag: String) -> Bool {
        let quote = UInt8(ascii: "\"")
        return tag.utf8.first == quote && tag.utf8.last == quote && tag.utf8.count >= 2
    }

    /// A representation that was modified in the second it was sent may change again within that second; without the server's time it isn't
    /// known whether it was (RFC 9110 §8.8.2.2). FTP never gives the time.
    private static func isStrong(lastModified: String, of head: ResponseHead) -> Bool {
        guard let modified = HTTPDate.parse(lastModified) else { return false }
        guard head.version.hasPrefix("HTTP/") else { return true }
        guard let sent = head["Date"].flatMap(HTTPDate.parse) else { return false }
        return sent.timeIntervalSince(modified) >= 1
    }
}
