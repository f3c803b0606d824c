import Foundation
import Glibc

/// The file beside a recording, `name.upload`, from which an unfinished upload of it is resumed: resume data, which the session checks.
struct UploadPauseFile {
    private static let suffix = "upload"
    private static let largestSize = 1 << 20

    private let url: URL

    init(beside file: URL) {
        url = file.appendingPathExtension(Self.suffix)
    }

    /// nil if there is none.
    var content: Data? { try? PrivateFile.read(url, upTo: Self.largestSize) }

    /// Readable only by its owner.
    func write(_ resumeData: Data) throws {
        try PrivateFile.write(resumeData, to: url, by: url.deletingLastPathComponent())
    }

    func remove() {
        unlink(url.path)
    }
}
