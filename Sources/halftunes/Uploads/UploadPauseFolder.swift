import CurlNetworking
import Foundation
import Glibc

/// The folder beside a recording, `name.upload`, from which an unfinished upload of it to one catalogue is resumed: the resume data, and the
/// private files that the session keeps for it.
struct UploadPauseFolder {
    private struct Content: Codable {
        /// The catalogue's.
        let api: URL
        /// The session checks it.
        let resumeData: Data
    }

    static let suffix = ".upload"
    /// Room for the resume data in Base64.
    private static let limits = UntrustedPropertyList.Limits(bytes: 1 << 20, containers: 8)

    /// The session's temporary directory.
    let url: URL
    private let note: URL
    private let api: URL

    init(beside file: URL, for api: URL) {
        url = URL(fileURLWithPath: file.path + Self.suffix, isDirectory: true)
        note = url.appendingPathComponent("resume-data", isDirectory: false)
        self.api = api
    }

    /// Makes the folder, accessible to its owner only. Without one, the upload can't be paused.
    func prepare() {
        mkdir(url.path, 0o700)
    }

    /// nil if there is none for the catalogue, or none any more: the session removes its files when an answer ends the upload.
    var resumeData: Data? {
        guard !privateFiles.isEmpty, let content: Content = try? PrivateFile.read(note, Self.limits), content.api == api
        else { return nil }
        return content.resumeData
    }

    func write(_ resumeData: Data) throws {
        try PrivateFile.write(Content(api: api, resumeData: resumeData), Self.limits, to: note, by: url)
    }

    /// Removes the folder if there is nothing in it.
    func tidy() {
        rmdir(url.path)
    }

    /// Whichever catalogue it is for. What somebody else has put there stays.
    func remove() {
        for file in privateFiles + [note] { unlink(file.path) }
        tidy()
    }

    private var privateFiles: [URL] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? []
        return names.filter { $0.hasSuffix(".tmp") }.map { url.appendingPathComponent($0, isDirectory: false) }
    }
}
