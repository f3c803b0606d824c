import Foundation
import Glibc
import Locks

/// The files of downloads whose process was killed, or has exited, in the middle of them.
///
/// A file that is worked on has the name `TemporaryName.active` and is locked (`flock`); the system takes back the lock when the process
/// is gone, however it went. So a file of that name without a lock is nobody's, and whichever process next downloads to the directory
/// removes it. What resume data names, and what was handed over to a program, has another name and is never touched.
enum AbandonedFiles {
    private static let visited = Mutex<Set<String>>([])

    /// A program with more directories than these has some visited again.
    private static let maximumVisited = 1000

    /// Has them removed from `directory`, once in a process's life, on a queue for what can wait. Any thread; never blocks.
    static func removeOnce(from directory: URL) {
        let isFirst = visited.withLock { visited in
            if visited.count >= maximumVisited { visited = [] }
            return visited.insert(directory.path).inserted
        }
        guard isFirst else { return }
        DispatchQueue.global(qos: .utility).async { remove(from: directory) }
    }

    /// Blocks. What can't be read or removed is left alone.
    static func remove(from directory: URL) {
        guard let stream = opendir(directory.path) else { return }
        defer { closedir(stream) }
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if TemporaryName.active.matches(name) { remove(name, in: dirfd(stream)) }
        }
    }

    /// Anybody may have put anything there: only a private file of this user's without another name is removed, no link is followed, and
    /// nothing is waited for.
    private static func remove(_ name: String, in directory: Int32) {
        let file = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard file >= 0 else { return }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode == S_IFREG | 0o600, status.st_uid == geteuid(),
            status.st_nlink == 1, flock(file, LOCK_EX | LOCK_NB) == 0
        else { return }
        // Before the lock was had, its owner may have given it another name, or removed it.
        var named = stat()
        guard fstatat(directory, name, &named, AT_SYMLINK_NOFOLLOW) == 0, named.st_ino == status.st_ino,
            named.st_dev == status.st_dev
        else { return }
        unlinkat(directory, name, 0)
    }
}
