import Foundation
import Glibc

/// A file that is replaced atomically: readers see the old text or the new one, even if the program is killed. The new file has the old one's
/// permissions.
struct AtomicFile {
    struct WriteError: Error, CustomStringConvertible {
        let path: String
        let number: Int32

        var description: String { "\(path): \(String(cString: strerror(number)))" }
    }

    private let path: String

    init(_ url: URL) {
        path = url.path
    }

    func write(_ text: String) throws {
        var status = stat()
        guard stat(path, &status) == 0 else { throw WriteError(path: path, number: errno) }
        let temporary = path + ".\(getpid()).new"
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw WriteError(path: path, number: errno) }
        do {
            try fill(descriptor, with: Array(text.utf8), permissions: status.st_mode & 0o7777)
            guard rename(temporary, path) == 0 else { throw WriteError(path: path, number: errno) }
        } catch {
            unlink(temporary)
            throw error
        }
    }

    private func fill(_ descriptor: Int32, with bytes: [UInt8], permissions: mode_t) throws {
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
        guard fchmod(descriptor, permissions) == 0, fsync(descriptor) == 0 else {
            throw WriteError(path: path, number: errno)
        }
    }
}
