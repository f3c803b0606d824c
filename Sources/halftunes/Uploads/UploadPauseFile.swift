import Foundation
import Glibc

/// The file beside a recording, `name.upload`, from which an unfinished upload of it to one catalogue is resumed.
struct UploadPauseFile {
    private struct Content: Codable {
        /// The catalogue's.
        let api: URL
        /// The session checks it.
        let resumeData: Data
    }

    static let suffix = ".upload"
    private static let largestSize = 1 << 20

    private let url: URL
    private let api: URL

    init(beside file: URL, for api: URL) {
        url = URL(fileURLWithPath: file.path + Self.suffix)
        self.api = api
    }

    /// nil if there is none for the catalogue.
    var resumeData: Data? {
        guard let data = try? PrivateFile.read(url, upTo: Self.largestSize),
            let content = try? PropertyListDecoder().decode(Content.self, from: data), content.api == api
        else { return nil }
        return content.resumeData
    }

    /// Readable only by its owner.
    func write(_ resumeData: Data) throws {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .binary
        let content = try encoder.encode(Content(api: api, resumeData: resumeData))
        try PrivateFile.write(content, to: url, by: url.deletingLastPathComponent())
    }

    func remove() {
        unlink(url.path)
    }
}
