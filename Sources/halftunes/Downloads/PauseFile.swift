import CurlNetworking
import Foundation

/// The file written beside a paused download's destination, as `name.resume`: the resume data, and the download it belongs to.
///
/// Its content is untrusted when read back: the download is named after the file, whatever the content says, and the resume data is checked
/// by the session that resumes from it.
struct PauseFile: Codable, Equatable, Sendable {
    private(set) var version = Self.currentVersion
    var item: DownloadItem
    /// Bytes of the file so far, for display: the resume data has its own count.
    var received: Int64
    var expected: Int64?
    var resumeData: Data

    private static let currentVersion = 1
    static let suffix = ".resume"
    /// Room for the resume data in Base64.
    private static let limits = UntrustedPropertyList.Limits(bytes: 4 << 20, containers: 8)

    /// Whether a partial file of this name may be needed. Resume data is opaque, but it can't need a file that it doesn't mention.
    func mentions(_ name: String) -> Bool {
        resumeData.range(of: Data(name.utf8)) != nil
    }

    /// nil if there is nothing to resume from.
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

    /// - Throws: If the file can't be read, or isn't one of ours.
    init(contentsOf url: URL) throws {
        let content: Self? = try PrivateFile.read(url, Self.limits)
        let name = url.lastPathComponent.dropLast(Self.suffix.count)
        guard url.lastPathComponent.hasSuffix(Self.suffix), !name.isEmpty, var decoded = content,
            decoded.version == Self.currentVersion, URL(webAddress: decoded.item.url.absoluteString) != nil
        else { throw PauseFileError.notOurs(url.lastPathComponent) }
        decoded.item.fileName = String(name)
        self = decoded
    }

    /// Writes it to `url` atomically, readable only by its owner.
    ///
    /// - Parameter folder: Where it is written before it is renamed, on the same file system.
    func write(to url: URL, by folder: URL) throws {
        try PrivateFile.write(self, Self.limits, to: url, by: folder)
    }
}

enum PauseFileError: LocalizedError {
    case notOurs(String)
    case taken(String)

    var errorDescription: String? {
        switch self {
        case .notOurs(let name): "\(name) is not a paused download of halftunes"
        case .taken(let name): "\(name) is the paused download of another address"
        }
    }
}
