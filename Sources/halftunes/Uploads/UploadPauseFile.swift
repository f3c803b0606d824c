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

    private var content: Content? {
        guard let data = try? PrivateFile.read(url, upTo: Self.largestSize) else { return nil }
        return try? PropertyListDecoder().decode(Content.self, from: data)
    }

    /// nil if there is none for the catalogue.
    var resumeData: Data? { content.flatMap { $0.api == api ? $0.resumeData : nil } }

    /// Readable only by its owner.
    func write(_ resumeData: Data) throws {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .binary
        let (old, new) = (content?.resumeData, try encoder.encode(Content(api: api, resumeData: resumeData)))
        try PrivateFile.write(new, to: url, by: url.deletingLastPathComponent())
        if let old { Self.removeFiles(of: old, neededBy: resumeData) }
    }

    /// Whichever catalogue it is for.
    func remove() {
        let old = content?.resumeData
        unlink(url.path)
        if let old { Self.removeFiles(of: old, neededBy: Data()) }
    }

    /// Removes the session's private files that only `old` mentions: nobody else knows when they can go. Resume data is opaque, but it can't
    /// need a file that it doesn't mention.
    private static func removeFiles(of old: Data, neededBy new: Data) {
        let folder = FileManager.default.temporaryDirectory
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        where name.hasPrefix("CurlNetworkingUpload_") && old.mentions(name) && !new.mentions(name) {
            unlink(folder.appendingPathComponent(name, isDirectory: false).path)
        }
    }
}

extension Data {
    fileprivate func mentions(_ name: String) -> Bool { range(of: Data(name.utf8)) != nil }
}
