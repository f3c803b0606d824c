import Foundation
import Glibc

/// A program's file, described well enough to tell later whether its content is still the one whose beginning was uploaded.
struct UploadedFile: Codable, Equatable, Sendable {
    let path: String
    /// In bytes.
    let length: Int64
    let modifiedSeconds: Int64
    let modifiedNanoseconds: Int64

    var url: URL { URL(fileURLWithPath: path, isDirectory: false) }
}

extension UploadedFile {
    /// The file as it is now; nil if it can't be uploaded. Blocks for as long as the file system takes.
    init?(_ url: URL) {
        var status = stat()
        guard url.isFileURL, url.faultAsFile == nil, stat(url.path, &status) == 0,
            status.st_mode & S_IFMT == S_IFREG
        else { return nil }
        self.init(url, status)
    }

    /// The file at `url`, as described by the system.
    init(_ url: URL, _ status: stat) {
        self.init(
            path: url.path,
            length: Int64(status.st_size),
            modifiedSeconds: Int64(status.st_mtim.tv_sec),
            modifiedNanoseconds: Int64(status.st_mtim.tv_nsec)
        )
    }

    /// Throws an error with this description unless the file, as described by `now`, is unchanged.
    func check(_ now: UploadedFile?, for url: URL?, otherwise description: String) throws(URLError) {
        guard now != self else { return }
        throw URLError(.cannotOpenFile, url: url, description, details: [NSFilePathErrorKey: path])
    }
}
