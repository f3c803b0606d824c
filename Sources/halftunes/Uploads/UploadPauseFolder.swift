import CurlNetworking
import Foundation
import Glibc

/// The folder beside a recording, `name.upload`, from which an unfinished upload of it to one catalogue is resumed: the resume data, and
/// the private files that the session keeps for it. Programs that upload the same recording share it.
struct UploadPauseFolder {
    private struct Content: Codable {
        /// The catalogue's.
        let api: URL
        /// The session checks it.
        let resumeData: Data
    }

    static let suffix = ".upload"
    private static let noteName = "resume-data"
    /// Room for the resume data in Base64.
    private static let limits = UntrustedPropertyList.Limits(bytes: 1 << 20, containers: 8)

    private let shared: SharedFolder
    private let api: URL

    /// Makes the folder, accessible only to its owner.
    ///
    /// - Throws: If it can't be made, or what is there isn't such a folder: other users could read its files, or add some.
    init(beside file: URL, for api: URL) throws {
        self.api = api
        shared = try SharedFolder(URL(fileURLWithPath: file.path + Self.suffix, isDirectory: true))
        guard shared.isPrivate else { throw UploadError.notPrivate(url.path) }
    }

    /// The session's temporary directory.
    var url: URL { shared.url }

    private var note: URL { url.appendingPathComponent(Self.noteName, isDirectory: false) }

    /// nil if there is none for the catalogue, or no longer one: the session removes its files when a response ends the upload.
    var resumeData: Data? {
        guard let content: Content = try? PrivateFile.read(note, Self.limits), content.api == api,
            privateFiles.contains(where: { content.resumeData.range(of: Data($0.utf8)) != nil })
        else { return nil }
        return content.resumeData
    }

    func write(_ resumeData: Data) throws {
        try PrivateFile.write(Content(api: api, resumeData: resumeData), Self.limits, to: note, by: url)
    }

    /// Removes the folder if it is empty and no other program uploads from it.
    func tidy() {
        shared.leave()
    }

    /// Removes the folder and its files, whichever catalogue they are for, unless another program uploads from it. Foreign files stay.
    func remove() {
        shared.leave {
            shared.remove(privateFiles + shared.names.filter(PrivateFile.isTemporary) + [Self.noteName])
        }
    }

    private var privateFiles: [String] { shared.names.filter(TemporaryName.upload.matches) }
}
