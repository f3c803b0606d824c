import Foundation
import Glibc

/// What is written beside a paused download's destination, as `name.resume`: the resume data, and what it belongs to.
///
/// What it holds is untrusted when it is read back: the download is named as the file is, whatever that says, and the
/// resume data is checked by who resumes from it.
struct PauseFile: Codable, Equatable, Sendable {
    private(set) var version = Self.currentVersion
    var item: DownloadItem
    /// Bytes of the file so far, for show: the resume data knows for itself.
    var received: Int64
    var expected: Int64?
    var resumeData: Data

    private static let currentVersion = 1
    static let suffix = ".resume"
    private static let largestSize = 4 << 20

    /// Whether a partial file of this name may be needed. Resume data is opaque; but what it doesn't mention it can't need.
    func mentions(_ name: String) -> Bool {
        resumeData.range(of: Data(name.utf8)) != nil
    }

    /// nil where there is nothing to resume from.
    init?(_ download: Download) {
        guard let resumeData = download.resumeData else { return nil }
        self.init(download, resumeData: resumeData)
    }

    init(_ download: Download, resumeData: Data) {
        item = download.item
        received = download.received
        expected = download.expected
        self.resumeData = resumeData
    }

    /// - Throws: Where the file can't be read, or is none of ours.
    init(contentsOf url: URL) throws {
        let descriptor = open(url.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw SystemCallError(url.path) }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        let data = (try? file.read(upToCount: Self.largestSize)) ?? Data()
        let name = url.lastPathComponent.dropLast(Self.suffix.count)
        guard url.lastPathComponent.hasSuffix(Self.suffix), !name.isEmpty,
            var decoded = try? PropertyListDecoder().decode(Self.self, from: data),
            decoded.version == Self.currentVersion, URL(webAddress: decoded.item.url.absoluteString) != nil
        else { throw PauseFileError.notOurs(url.lastPathComponent) }
        decoded.item.fileName = String(name)
        self = decoded
    }

    /// Writes it as `url`, readable for nobody else, and at once: whoever looks sees the old file or the new one.
    ///
    /// - Parameter folder: Where it is written before it gets its name, on the same file system.
    func write(to url: URL, by folder: URL) throws {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .binary
        try PrivateFile.write(encoder.encode(self), to: url, by: folder)
    }
}

enum PauseFileError: LocalizedError {
    case notOurs(String)

    var errorDescription: String? {
        switch self {
        case .notOurs(let name): "\(name) is not a paused download of halftunes"
        }
    }
}
