import Foundation

/// Everything a download needs to continue later, in this process or another.
struct ResumeData: VersionedResumeData, Equatable, Sendable {
    private(set) var version = Self.currentVersion
    /// The task's own request, without its credentials, for the URL that it led to.
    let request: StoredRequest
    var validator: Resumption.Validator
    /// nil if the server didn't say.
    var completeLength: Int64?
    var partialFile: PartialFile
    /// The file that it was copied from, if the download is still running; not needed any more once this data is used.
    var superseded: PartialFile?

    static let currentVersion = 1
    static let name = "The resume data"

    /// Our resume data never comes near this size.
    static let limits = UntrustedPropertyList.Limits(bytes: 256 * 1024, containers: 16)

    init(
        request: StoredRequest,
        validator: Resumption.Validator,
        completeLength: Int64?,
        partialFile: PartialFile
    ) {
        self.request = request
        self.validator = validator
        self.completeLength = completeLength
        self.partialFile = partialFile
    }

    /// - Parameter offset: The partial file's length in bytes, which may have grown since it was described.
    func resumption(from offset: Int64) -> Resumption {
        Resumption(offset: offset, validator: validator, completeLength: completeLength)
    }

    // MARK: - To bytes and back

    var isPlausible: Bool {
        StoredRequest.canName(request.url) && request.method == "GET" && partialFile.length >= 0
            && completeLength.map { $0 >= partialFile.length } ?? true
            && !validator.fieldValue.utf8.contains { $0 < 0x20 || $0 == 0x7f }
    }

    // The request's entries are beside the others.

    private enum CodingKeys: CodingKey {
        case version, validator, completeLength, partialFile, superseded
    }

    init(from decoder: any Decoder) throws {
        request = try StoredRequest(from: decoder)
        let container = try decoder.container(keyedBy: CodingKeys.self)
        version = try container.decode(Int.self, forKey: .version)
        validator = try container.decode(Resumption.Validator.self, forKey: .validator)
        completeLength = try container.decodeIfPresent(Int64.self, forKey: .completeLength)
        partialFile = try container.decode(PartialFile.self, forKey: .partialFile)
        superseded = try container.decodeIfPresent(PartialFile.self, forKey: .superseded)
    }

    func encode(to encoder: any Encoder) throws {
        try request.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(version, forKey: .version)
        try container.encode(validator, forKey: .validator)
        try container.encodeIfPresent(completeLength, forKey: .completeLength)
        try container.encode(partialFile, forKey: .partialFile)
        try container.encodeIfPresent(superseded, forKey: .superseded)
    }

    // MARK: - To another directory

    /// The same data for a partial file that is moved from `source` to `directory` under its own name: if the program gets the data and is
    /// then killed, its next run finds the file there. Repeated calls return the same data until the file is deleted; nil if it isn't our
    /// resume data, or the file isn't there: the data is untrusted, and may name another program's file. Blocks: see `PartialFile.moved`.
    static func handedOver(_ data: Data, from source: URL, to directory: URL) -> Data? {
        guard var resumeData = try? ResumeData(decoding: data) else { return nil }
        let partial = resumeData.partialFile
        if partial.directory == directory.standardizedFileURL.path { return data }
        guard partial.isIn(source), let moved = partial.moved(to: directory, as: partial.name) else { return nil }
        resumeData.partialFile = moved
        return resumeData.encoded()
    }

    /// Whether the partial file is still in `directory` as it was.
    static func isFileThere(_ data: Data, in directory: URL) -> Bool {
        guard let partial = try? ResumeData(decoding: data).partialFile else { return false }
        return partial.isIn(directory) && partial.isThere()
    }
}
