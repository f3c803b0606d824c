import Curl
import Foundation

// In which codings the body comes.

extension ResponseHead {
    /// What is to be decoded of the body.
    enum Coding: Equatable {
        /// Nothing: it has no coding, or one that can't be decoded here, and is handed over as it came.
        case none
        /// These, in the order in which they were applied.
        case codings([ContentCoding])
        /// More than anybody has reason to apply.
        case tooMany(Int)
    }

    /// As `Content-Encoding` says (RFC 9110 §8.4). One coding that isn't known, such as `aws-chunked`, leaves the whole body as it came: so
    /// the field goes on telling the truth.
    var contentCoding: Coding {
        guard self["Content-Encoding"] != nil else { return .none }
        var codings: [ContentCoding] = []
        for name in elements(of: "Content-Encoding") where !name.isEqualIgnoringASCIICase(to: "identity") {
            guard let coding = ContentCoding(name: name), coding.isAvailable else { return .none }
            codings.append(coding)
        }
        if codings.isEmpty { return .none }
        return codings.count > Self.maximumCodings ? .tooMany(codings.count) : .codings(codings)
    }

    /// As many as libcurl allows.
    private static let maximumCodings = 5

    /// Whether the body is decoded, so that its length on the wire tells nothing of the length that it is delivered with.
    var isContentCoded: Bool { contentCoding != .none }

    /// Whether the message has a transfer coding beside `chunked`, which nobody has asked for (RFC 9112 §7.4). libcurl would decode some, and
    /// can't stop amid that.
    var hasUnwantedTransferCoding: Bool {
        guard self["Transfer-Encoding"] != nil else { return false }
        return elements(of: "Transfer-Encoding").contains {
            !$0.isEqualIgnoringASCIICase(to: "chunked") && !$0.isEqualIgnoringASCIICase(to: "identity")
        }
    }

    /// The elements of a field that is a list (RFC 9110 §5.6.1), over all its lines.
    private func elements(of name: String) -> [String] {
        fields.lazy.filter { $0.name.isEqualIgnoringASCIICase(to: name) }
            .flatMap { $0.value.split(separator: ",") }
            .map { $0.trimmingCharacters(in: .whitespaces) }
            .filter { !$0.isEmpty }
    }
}
