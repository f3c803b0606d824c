import Foundation
import Glibc

/// A program's file, described well enough to tell later whether its content is still that whose beginning was uploaded.
struct UploadedFile: Codable, Equatable, Sendable {
    let path: String
    /// In bytes.
    let length: Int64
    let modifiedSeconds: Int64
    let modifiedNanoseconds: Int64

    var url: URL { URL(fileURLWithPath: path, isDirectory: false) }
}

extension UploadedFile {
    /// The file as it is now; nil if it can't be uploaded.
    init?(_ url: URL) {
        var status = stat()
        guard url.isFileURL, stat(url.path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        self.init(
            path: url.path,
            length: Int64(status.st_size),
            modifiedSeconds: Int64(status.st_mtim.tv_sec),
            modifiedNanoseconds: Int64(status.st_mtim.tv_nsec)
        )
    }

    /// Throws an error with this description if the file isn't as it was.
    func check(for url: URL?, otherwise description: String) throws(URLError) {
        guard UploadedFile(self.url) != self else { return }
        throw URLError(.cannotOpenFile, url, description, nil, [NSFilePathErrorKey: path])
    }
}
