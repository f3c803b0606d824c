import CurlTransport
import Foundation
import Glibc
import CurlNetworkingLocks

/// Removes the files of downloads whose process was killed, or exited, before they were complete or their delegates had been told of them.
///
/// Such a file has the name `TemporaryName.active` and is locked (`flock`); the system releases the lock when the process ends, however it
/// ends. So an unlocked file of that name is abandoned, and the next process that downloads to the directory removes it. Files named by
/// resume data, or handed over to a program, have another name and are never touched.
enum AbandonedFiles {
    private static let visited = Mutex<Set<String>>([])

    /// A program with more directories than this visits some again.
    private static let maximumVisited = 1000

    /// Removes them from `directory` on another thread, once per process. Any thread; never blocks.
    static func removeOnce(from directory: URL) {
        let isFirst = visited.withLock { visited in
            if visited.count >= maximumVisited { visited = [] }
            return visited.insert(directory.path).inserted
        }
        guard isFirst else { return }
        WorkThreads.files.run { remove(from: directory) }
    }

    /// Blocks. Files that can't be read or removed are left alone.
    static func remove(from directory: URL) {
        guard let names = try? DirectoryNames(directory.path) else { return }
        while let name = try? names.next() {
            if TemporaryName.active.matches(name) { remove(name, in: names.descriptor) }
        }
    }

    /// Other users may have put files there: only a private file of this user is removed, symbolic links aren't followed, and nothing blocks
    /// on another process. A file that has other names, such as an agent's, keeps those.
    private static func remove(_ name: String, in directory: Int32) {
        let file = uninterrupted { openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) }
        guard file >= 0 else { return }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode == S_IFREG | 0o600, status.st_uid == geteuid(),
            flock(file, LOCK_EX | LOCK_NB) == 0
        else { return }
        // Its owner may have renamed or removed it before it was locked here.
        var named = stat()
        guard fstatat(directory, name, &named, AT_SYMLINK_NOFOLLOW) == 0, named.st_ino == status.st_ino,
            named.st_dev == status.st_dev
        else { return }
        unlinkat(directory, name, 0)
    }
}
