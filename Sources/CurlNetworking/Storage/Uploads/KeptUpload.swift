import Foundation
import Glibc

/// Where an upload goes: everything that decides which server gets its body.
struct UploadDestination: Codable, Equatable, Sendable {
    /// The task's own URL.
    let request: URL
    let resource: URL
}

/// What an interrupted upload sends, and where to: the content of a private file, a property list.
///
/// Such a file has its own form of name, and mode 0600. Nothing that a server sends is ever written to a file of that form, and other users
/// can't make one that belongs to this user: so this module has written its content.
struct KeptUpload: Codable, Equatable, Sendable {
    enum Body: Codable, Equatable, Sendable {
        case program(UploadedFile)
        case ours(PartialFile)
    }

    let destination: UploadDestination
    let body: Body

    /// Room for the longest path and two long URLs, in XML.
    private static let limits = UntrustedPropertyList.Limits(bytes: 256 * 1024, containers: 16)

    init(destination: UploadDestination, body: Body) {
        (self.destination, self.body) = (destination, body)
    }

    /// The content of `file`; nil if it is gone from `directory`, or isn't the one that was written. Blocks.
    init?(_ file: PartialFile, in directory: URL) {
        guard Self.isPlausible(file), let descriptor = file.open(in: directory, as: .upload) else { return nil }
        defer { close(descriptor) }
        guard let description = try? DescriptorBytes.read(descriptor, count: Int(file.length)),
            description.count == file.length, let decoded: Self = UntrustedPropertyList.decode(description, Self.limits)
        else { return nil }
        self = decoded
    }

    /// Whether a file with this description, which is untrusted, may be one of ours.
    static func isPlausible(_ file: PartialFile) -> Bool {
        file.isGrowing == nil && (1...Int64(limits.bytes)).contains(file.length)
    }

    /// Blocks.
    func write(in directory: URL) throws(URLError) -> PartialFile {
        guard let description = UntrustedPropertyList.encode(self, Self.limits) else {
            throw URLError(.cannotWriteToFile, url: destination.request, "The upload can't be described.")
        }
        return try Self.write(description, as: .upload, in: directory)
    }

    /// Writes `data` into a private file in `directory`. Blocks.
    static func write(_ data: Data, as form: TemporaryName, in directory: URL) throws(URLError) -> PartialFile {
        let file = try DownloadFile(in: directory)
        do throws(URLError) {
            try data.withBytes { bytes throws(URLError) in try file.write(bytes) }
        } catch {
            file.remove()
            throw error
        }
        guard let kept = file.keep(as: form) else {
            throw URLError(.cannotWriteToFile, url: directory, "The upload's body could not be kept.")
        }
        return kept
    }
}
