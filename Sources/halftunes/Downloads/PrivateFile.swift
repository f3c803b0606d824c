import CurlNetworking
import Foundation
import Glibc

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

/// Files that only their owner can access. What is read back may come from anywhere.
enum PrivateFile {
    private static let suffix = ".tmp"

    /// Whether a file of this name may be left over from a program that was killed while it wrote another file.
    static func isTemporary(_ name: String) -> Bool {
        name.hasSuffix(suffix) && UUID(uuidString: String(name.dropLast(suffix.count))) != nil
    }

    /// Writes a file of mode 0600 in `folder` and then renames it, so that `url` is never half written.
    ///
    /// - Throws: If it can't be written, or `read` would refuse it.
    static func write(
        _ value: some Encodable,
        _ limits: UntrustedPropertyList.Limits,
        to url: URL,
        by folder: URL
    ) throws {
        guard let data = UntrustedPropertyList.encode(value, limits) else {
            throw CocoaError(.propertyListWriteInvalid)
        }
        let temporary = folder.appendingPathComponent("\(UUID().uuidString)\(suffix)")
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

    /// nil if there is something else in the file, or too much of it, or it can't be read. Never blocks on something that isn't a regular
    /// file.
    ///
    /// - Throws: If it can't be opened.
    static func read<Value: Decodable>(_ url: URL, _ limits: UntrustedPropertyList.Limits) throws -> Value? {
        let descriptor = open(url.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw SystemCallError(url.path) }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        guard let data = try? file.read(upToCount: limits.bytes + 1) else { return nil }
        return UntrustedPropertyList.decode(data, limits)
    }

    /// Moves a file within the same file system, replacing any file there.
    static func move(_ source: URL, to destination: URL) throws {
        guard rename(source.path, destination.path) == 0 else { throw SystemCallError(destination.path) }
    }
}
