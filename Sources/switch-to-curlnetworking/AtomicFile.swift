import Foundation
import Glibc

/// A file that is replaced atomically: readers see the old text or the new one, even if the program is killed. The new file has the old
/// one's permissions, and its owner if the system allows that. A link stays a link.
struct AtomicFile {
    struct WriteError: Error, CustomStringConvertible {
        let path: String
        let number: Int32

        var description: String { "\(path): \(String(cString: strerror(number)))" }
    }

    private let path: String

    init(_ url: URL) {
        path = url.resolvingSymlinksInPath().path
    }

    func write(_ text: String) throws(WriteError) {
        var status = stat()
        guard stat(path, &status) == 0 else { throw WriteError(path: path, number: errno) }
        let temporary = path + ".\(getpid()).new"
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw WriteError(path: path, number: errno) }
        do throws(WriteError) {
            try fill(descriptor, with: Array(text.utf8), as: status)
            guard rename(temporary, path) == 0 else { throw WriteError(path: path, number: errno) }
        } catch {
            unlink(temporary)
            throw error
        }
    }

    private func fill(_ descriptor: Int32, with bytes: [UInt8], as old: stat) throws(WriteError) {
        defer { close(descriptor) }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else {
                if errno == EINTR { continue }
                throw WriteError(path: path, number: errno)
            }
            rest = rest.dropFirst(count)
        }
        _ = fchown(descriptor, old.st_uid, old.st_gid)
        guard fchmod(descriptor, old.st_mode & 0o7777) == 0, fsync(descriptor) == 0 else {
            throw WriteError(path: path, number: errno)
        }
    }
}
