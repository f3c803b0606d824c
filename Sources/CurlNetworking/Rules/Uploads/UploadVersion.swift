/// A version of the IETF's draft on resumable uploads (draft-ietf-httpbis-resumable-upload), by its interoperability version. The server
/// says in its 104 which one it speaks.
enum UploadVersion: Int, Codable, Sendable, CaseIterable {
    /// draft-01, spoken by iOS 17 and macOS 14.
    case v3 = 3
    /// draft-02: `Upload-Complete` takes the place of `Upload-Incomplete`.
    case v4
    /// draft-03, spoken by iOS 18.0: 104 tells of progress.
    case v5
    /// draft-04 and 05, spoken by iOS 18.1: appended bytes have a media type of their own.
    case v6
    /// draft-06 to 08.
    case v7
    /// draft-09 and later, spoken by iOS 26.
    case v8

    /// The fields that offer to resume an upload, in the request that begins it (draft-09 §4.2). `length` is nil if unknown.
    func creationFields(length: Int64?) -> [HeaderField] {
        [interopField, completenessField(isLast: true)] + lengthFields(length)
    }

    /// The fields of the request for the offset (§4.3).
    var offsetFields: [HeaderField] { [interopField] }

    /// The fields of the request with the rest of the body, or a piece of it (§4.4).
    func appendFields(_ rest: UploadRest) -> [HeaderField] {
        let offset = HeaderField(name: UploadField.offset, value: "\(rest.offset)")
        var fields = [interopField, offset, completenessField(isLast: rest.isLast)] + lengthFields(rest.total)
        if self >= .v6 { fields.append(HeaderField(name: "Content-Type", value: "application/partial-upload")) }
        return fields
    }

    private var interopField: HeaderField { HeaderField(name: UploadField.version, value: "\(rawValue)") }

    /// - Parameter isLast: Whether the request's end is the body's.
    private func completenessField(isLast: Bool) -> HeaderField {
        self >= .v4
            ? HeaderField(name: UploadField.complete, value: isLast ? "?1" : "?0")
            : HeaderField(name: UploadField.incomplete, value: isLast ? "?0" : "?1")
    }

    /// Apple's client sends it with version 8 and not with version 6, where Content-Length says the same.
    private func lengthFields(_ length: Int64?) -> [HeaderField] {
        guard self >= .v7, let length else { return [] }
        return [HeaderField(name: UploadField.length, value: "\(length)")]
    }
}

extension UploadVersion: Comparable {
    static func < (one: UploadVersion, other: UploadVersion) -> Bool { one.rawValue < other.rawValue }
}
