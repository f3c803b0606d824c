import Foundation

/// The one range that a request asks for, in bytes (RFC 9110 §14.1.2).
enum CacheRange: Equatable, Sendable {
    /// From an offset on, through the last byte that is wanted; nil for the end.
    case from(Int, through: Int?)
    /// So many at the end.
    case last(Int)

    /// nil for several ranges, other units, and what is none.
    init?(_ field: String) {
        let words = field.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard words.count == 2, String(words[0].trimmed).isEqualIgnoringASCIICase(to: "bytes") else { return nil }
        let ends = words[1].trimmed.split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, ends.allSatisfy({ $0.utf8.allSatisfy(\.isASCIIDigit) }) else { return nil }
        switch (Int(ends[0]), Int(ends[1])) {
        case (let first?, let last?) where first <= last: self = .from(first, through: last)
        case (let first?, nil) where ends[1].isEmpty: self = .from(first, through: nil)
        case (nil, let count?) where ends[0].isEmpty: self = .last(count)
        default: return nil
        }
    }

    /// Where that is in so many bytes; nil where nothing of it is there.
    func bytes(of length: Int) -> Range<Int>? {
        switch self {
        case .from(let first, let last):
            guard first < length else { return nil }
            return first..<min(last ?? length - 1, length - 1) + 1
        case .last(let count):
            guard count > 0, length > 0 else { return nil }
            return max(0, length - count)..<length
        }
    }
}

extension StoredResponse {
    /// The answer to a request for a range of it (RFC 9111 §3.3); nil where this isn't all of a representation as it came, or hasn't got the
    /// range.
    func part(_ range: CacheRange) -> StoredResponse? {
        guard form == .http, head.status == 200, head["Content-Encoding"] == nil,
            let bytes = range.bytes(of: data.count)
        else {
            return nil
        }
        var part = self
        part.head = CacheFields.removing(["content-length", "content-range"], from: head)
        part.head.status = 206
        part.head.fields += [
            HeaderField(
                name: "Content-Range",
                value: "bytes \(bytes.lowerBound)-\(bytes.upperBound - 1)/\(data.count)"
            ),
            HeaderField(name: "Content-Length", value: "\(bytes.count)"),
        ]
        part.data = Data(data[data.startIndex + bytes.lowerBound..<data.startIndex + bytes.upperBound])
        return part
    }
}
