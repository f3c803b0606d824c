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
        /// Any number of processes. The temporary file has a random name, is created exclusively, and stays locked until it is closed, where
        /// the file system has locks. So an unlocked one was left by a killed process: see `removeIfAbandoned`.
        case many

        var temporarySuffix: String {
            switch self {
            case .one: ".new"
            case .many: ".tmp"
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
            return (temporary, try open(temporary, O_TRUNC))
        case .many:
            while true {
                let temporary = "\(path).\(UUID.random().uuidString)\(writers.temporarySuffix)"
                let descriptor = try open(temporary, O_EXCL)
                // Another process may have taken the new file for an abandoned one before it was locked.
                if !isLockedElsewhere(descriptor), access(temporary, F_OK) == 0 { return (temporary, descriptor) }
                close(descriptor)
            }
        }
    }

    private static func open(_ path: String, _ flag: Int32) throws(SystemError) -> Int32 {
        let descriptor = uninterrupted { Glibc.open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | flag, 0o600) }
        guard descriptor >= 0 else { throw .current }
        return descriptor
    }

    // MARK: - What killed processes left (`Writers.many`)

    /// Removes their temporary files for the file at `path`.
    static func removeAbandoned(besides path: String) {
        let file = URL(fileURLWithPath: path)
        let directory = file.deletingLastPathComponent().path
        let (prefix, suffix) = (file.lastPathComponent + ".", Writers.many.temporarySuffix)
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        for name in names where name.hasPrefix(prefix) && name.hasSuffix(suffix) {
            let middle = name.dropFirst(prefix.count).dropLast(suffix.count)
            if UUID(uuidString: String(middle)) != nil { removeIfAbandoned(directory + "/" + name) }
        }
    }

    /// Removes the temporary file at `path`, unless a process that is writing it holds the lock.
    static func removeIfAbandoned(_ path: String) {
        let descriptor = uninterrupted { Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) }
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { unlink(path) }
    }
}
