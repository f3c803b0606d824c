import Foundation
import Glibc

/// A system call that failed.
struct SystemCallError: LocalizedError {
    let subject: String
    let code: Int32

    /// Captures `errno`; call it before anything else can change that.
    init(_ subject: String) {
        self.subject = subject
        code = errno
    }

    var errorDescription: String? { "\(subject): \(String(cString: strerror(code)))" }
}

/// Files that only their owner can access.
enum PrivateFile {
    /// Writes a file of mode 0600 in `folder` and then renames it, so that `url` is never half written.
    static func write(_ data: Data, to url: URL, by folder: URL) throws {
        let temporary = folder.appendingPathComponent("\(UUID().uuidString).tmp")
        let descriptor = open(temporary.path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw SystemCallError(url.path) }
        do {
            let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
            try file.write(contentsOf: data)
            try file.synchronize()
            try file.close()
            try move(temporary, to: url)
        } catch {
            unlink(temporary.path)
            throw error
        }
    }

    /// What a file begins with; nil if it is empty or can't be read. Never blocks on something that isn't a regular file.
    ///
    /// - Throws: If it can't be opened.
    static func read(_ url: URL, upTo count: Int) throws -> Data? {
        let descriptor = open(url.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw SystemCallError(url.path) }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        return try? file.read(upToCount: count)
    }

    /// Moves a file within the same file system, replacing what was there.
    static func move(_ source: URL, to destination: URL) throws {
        guard rename(source.path, destination.path) == 0 else { throw SystemCallError(destination.path) }
    }
}
