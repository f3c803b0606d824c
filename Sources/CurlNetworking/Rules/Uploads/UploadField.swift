import Foundation

/// The names of the fields of resumable uploads.
enum UploadField {
    static let version = "Upload-Draft-Interop-Version"
    static let complete = "Upload-Complete"
    static let incomplete = "Upload-Incomplete"
    static let offset = "Upload-Offset"
    static let length = "Upload-Length"
    static let limit = "Upload-Limit"
    /// Those of requests.
    static let ofRequests = [version, complete, incomplete, offset, length]

    /// Whether a program that has set the field speaks the protocol itself, or a similar one. `name` may be the field's whole line.
    static func isOfProtocol(_ name: String) -> Bool {
        ["Upload-", "Tus-"].contains { name.hasPrefixIgnoringASCIICase($0) }
    }

    /// Whether the field of a request is about its body or is a condition on it: in requests to the upload's own resource it would be
    /// wrong.
    static func describesBody(_ name: String) -> Bool {
        if ["Content-", "If-", "Upload-"].contains(where: { name.hasPrefixIgnoringASCIICase($0) }) { return true }
        return ["Transfer-Encoding", "Expect", "Range", "Digest", "Repr-Digest"].contains {
            $0.isEqualIgnoringASCIICase(to: name)
        }
    }
}

extension String {
    fileprivate func hasPrefixIgnoringASCIICase(_ prefix: String) -> Bool {
        String(self.prefix(prefix.count)).isEqualIgnoringASCIICase(to: prefix)
    }
}

extension ResponseHead {
    /// The version of the draft that the server speaks; nil if it names none, or an unknown one.
    var uploadVersion: UploadVersion? {
        structuredInteger(UploadField.version).flatMap { Int(exactly: $0) }.flatMap(UploadVersion.init)
    }

    /// How much of the upload the server has, in bytes.
    var uploadOffset: Int64? { structuredInteger(UploadField.offset) }

    /// The length of the whole, in bytes, as far as the server knows it.
    var uploadLength: Int64? { structuredInteger(UploadField.length) }

    /// The largest body of a request that appends, in bytes; nil if the server doesn't say. The field is a dictionary (RFC 9651 §3.2), of
    /// whose members with the same name the last one counts.
    var uploadAppendLimit: Int64? {
        let members = combined(UploadField.limit).flatMap(ListField.elements) ?? []
        let pairs = members.map { $0.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1).map(\.trimmed) }
        guard let pair = pairs.last(where: { $0.first == "max-append-size" }), pair.count == 2,
            let limit = Self.structuredInteger(String(pair[1])), limit > 0
        else { return nil }
        return limit
    }

    /// Whether the server has everything; nil if it doesn't say. Either version's field will do.
    var isUploadComplete: Bool? {
        structuredBoolean(UploadField.complete) ?? structuredBoolean(UploadField.incomplete).map { !$0 }
    }

    private func structuredInteger(_ name: String) -> Int64? {
        structuredItem(name).flatMap(Self.structuredInteger)
    }

    /// A non-negative number of at most 15 digits (RFC 9651 §3.3.1). Other values count as none.
    private static func structuredInteger(_ digits: String) -> Int64? {
        digits.utf8.count <= 15 ? Int64(digits: digits.utf8) : nil
    }

    /// RFC 9651 §3.3.6.
    private func structuredBoolean(_ name: String) -> Bool? {
        switch structuredItem(name) {
        case "?1": true
        case "?0": false
        default: nil
        }
    }

    /// The field's item without its parameters. Two fields make a list, which isn't an item (RFC 9651 §4.2).
    private func structuredItem(_ name: String) -> String? {
        let values = fields.filter { $0.name.isEqualIgnoringASCIICase(to: name) }
        guard values.count == 1 else { return nil }
        return values[0].value.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces)
    }
}
