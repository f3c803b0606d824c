import Foundation

/// A single requested range, in bytes (RFC 9110 §14.1.2).
enum CacheRange: Equatable, Sendable {
    /// From an offset through the last requested byte; nil for the end.
    case from(Int, through: Int?)
    /// The last bytes, by their number.
    case last(Int)

    /// nil for several ranges, other units and invalid fields.
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

    /// The range in a body of `length` bytes; nil if it isn't satisfiable.
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
