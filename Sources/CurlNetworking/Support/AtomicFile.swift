import CurlTransport
import Foundation
import Glibc

/// Replaces files as a whole: the content goes to a temporary file beside the file, which is then renamed.
///
/// Promised to every caller:
/// - Whoever reads the file gets the old content or the new one, complete, even if this process is killed. After a crash of the system that
///   depends on `Sync`.
/// - The new file has mode 0600 from the start, whatever mode the old one had.
/// - Nothing is written through a symbolic link. One in the file's place is replaced; what it points to stays.
/// - If writing fails, the file stays as it was, and the temporary file is removed. `Sync.afterRename` is the exception.
///
/// The directory must exist, and should be private: see `FileManager.makeFolderPrivate`. Every call blocks.
enum AtomicFile {
    /// Who may write the file at the same time.
    enum Writers {
        /// Only the caller. The temporary file's name is fixed; one that a killed process left is overwritten.
        case one
        /// Any number of processes. The temporary file has a random name, and is a `LockedFile`.
        case many
        /// The same, but writing fails if the file system has no locks: nothing would ever remove what killed processes leave.
        case manyWithLocks

        var temporarySuffix: String {
            switch self {
            case .one: ".new"
            case .many, .manyWithLocks: ".tmp"
            }
        }
    }

    /// When the content is synced.
    enum Sync {
        /// Not at all: a crash of the system may leave a file with any content.
        case never
        /// A crash leaves the old content or the new one, complete. It may leave the old one even after this has returned.
        case beforeRename
        /// Only for a file that doesn't exist yet: a single sync covers its content and its name. A crash before this returns may leave any
        /// content; one after it can't undo the writing. On failure there is no file.
        case afterRename
    }

    /// `fill` writes the content to the descriptor that it is given. It is called only once there is a temporary file.
    static func write<Result>(
        _ path: String,
        writers: Writers,
        sync: Sync,
        _ fill: (Int32) throws(SystemError) -> Result
    ) throws(SystemError) -> Result {
        let (temporary, descriptor) = try makeTemporary(for: path, writers)
        do throws(SystemError) {
            defer { close(descriptor) }
            let result = try fill(descriptor)
            let isInPlace =
                switch sync {
                case .never: rename(temporary, path) == 0
                case .beforeRename: fdatasync(descriptor) == 0 && rename(temporary, path) == 0
                case .afterRename: rename(temporary, path) == 0 && fsync(descriptor) == 0
                }
            guard isInPlace else { throw .current }
            return result
        } catch {
            unlink(temporary)
            if sync == .afterRename { unlink(path) }
            throw error
        }
    }

    private static func makeTemporary(
        for path: String,
        _ writers: Writers
    ) throws(SystemError) -> (path: String, descriptor: Int32) {
        switch writers {
        case .one:
            let temporary = path + writers.temporarySuffix
            let flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC
            let descriptor = uninterrupted { open(temporary, flags, 0o600) }
            guard descriptor >= 0 else { throw .current }
            return (temporary, descriptor)
        case .many, .manyWithLocks:
            let file = try LockedFile.create(O_WRONLY) {
                "\(path).\(UUID.random().uuidString)\(writers.temporarySuffix)"
            }
            guard file.isLocked || writers == .many else {
                close(file.descriptor)
                unlink(file.path)
                throw SystemError(code: ENOLCK)
            }
            return (file.path, file.descriptor)
        }
    }

    /// Removes the temporary files that killed processes left when they wrote the file at `path`, as one of many.
    static func removeAbandoned(besides path: String) {
        let file = URL(fileURLWithPath: path)
        let directory = file.deletingLastPathComponent().path
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        for name in names where target(ofTemporary: name) == file.lastPathComponent[...] {
            LockedFile.removeAbandoned(directory + "/" + name)
        }
    }

    /// The name of the file that one of many writers writes to a temporary file called `name`; nil if no temporary file has such a name.
    static func target(ofTemporary name: String) -> Substring? {
        guard name.hasSuffix(Writers.many.temporarySuffix) else { return nil }
        let rest = name.dropLast(Writers.many.temporarySuffix.count)
        guard let dot = rest.lastIndex(of: "."), UUID(uuidString: String(rest[dot...].dropFirst())) != nil else {
            return nil
        }
        return rest[..<dot]
    }
}
