import CurlTransport
import Foundation

// The codings of the body.

extension ResponseHead {
    /// How to decode the body.
    enum Coding: Equatable {
        /// Not at all: it has no coding, or one that can't be decoded, and is delivered as it is.
        case none
        /// These, in the order in which they were applied.
        case codings([ContentCoding])
        /// More codings than allowed.
        case tooMany(Int)
    }

    /// How to decode this body. A part (206) that isn't known to begin where the coded data does can't be decoded, and is delivered as it
    /// is (RFC 9110 §14.2).
    var contentCoding: Coding {
        let coding = namedCoding
        guard coding != .none, status == 206, contentRange?.bytes?.lowerBound != 0 else { return coding }
        return .none
    }

    /// The coding of the complete body, from `Content-Encoding` (RFC 9110 §8.4). With an unknown coding, such as `aws-chunked`, the whole
    /// body is delivered as it is, so that the field stays true.
    var namedCoding: Coding {
        guard self["Content-Encoding"] != nil else { return .none }
        guard let names = tokens(of: "Content-Encoding") else { return .tooMany(ListField.maximumElements + 1) }
        var codings: [ContentCoding] = []
        for name in names where !name.isEqualIgnoringASCIICase(to: "identity") {
            guard let coding = ContentCoding(name: name), coding.isAvailable else { return .none }
            codings.append(coding)
        }
        if codings.isEmpty { return .none }
        return codings.count > Self.maximumCodings ? .tooMany(codings.count) : .codings(codings)
    }

    /// The same as libcurl's limit.
    private static let maximumCodings = 5

    /// Whether the body is decoded, so that its length isn't the one on the wire.
    var isContentCoded: Bool { contentCoding != .none }

    /// Whether the message has a transfer coding besides `chunked`, none of which was asked for (RFC 9112 §7.4). libcurl would decode some,
    /// and can't pause while it does.
    var hasUnwantedTransferCoding: Bool {
        guard self["Transfer-Encoding"] != nil else { return false }
        guard let codings = tokens(of: "Transfer-Encoding") else { return true }
        return codings.contains {
            !$0.isEqualIgnoringASCIICase(to: "chunked") && !$0.isEqualIgnoringASCIICase(to: "identity")
        }
    }

    /// The error for that.
    func unwantedTransferCoding(at url: URL?) -> URLError {
        let coding = (self["Transfer-Encoding"] ?? "").debugDescription
        let description = "The response has a transfer coding that wasn't asked for: \(coding)."
        return URLError(.cannotDecodeContentData, url: url, description)
    }

    /// Whether the body comes in chunks, rather than up to the end of the connection.
    var isChunked: Bool {
        guard self["Transfer-Encoding"] != nil, let codings = tokens(of: "Transfer-Encoding") else { return false }
        return codings.contains { $0.isEqualIgnoringASCIICase(to: "chunked") }
    }

    /// The elements of a field that lists tokens (RFC 9110 §5.6.1), in all its lines; nil for more than `ListField.maximumElements`. No
    /// token has quotes, so every comma separates; libcurl reads these fields in the same way.
    func tokens(of name: String) -> [String]? {
        let maximum = ListField.maximumElements
        var tokens: [String] = []
        for value in fields.values(of: name) {
            for element in value.utf8.split(separator: UInt8(ascii: ","), maxSplits: maximum) {
                let token = Substring(element).trimmed
                if !token.isEmpty { tokens.append(String(token)) }
            }
            guard tokens.count <= maximum else { return nil }
        }
        return tokens
    }
}
