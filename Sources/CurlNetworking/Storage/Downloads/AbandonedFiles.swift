import CurlTransport
import Foundation
import Glibc
import CurlNetworkingLocks

/// Removes the files of downloads whose process was killed, or exited, before they were complete or their delegates had been told of them.
///
/// Such a file has the name `TemporaryName.active` and is a `LockedFile`, so the next process that downloads to the directory can tell that
/// it is abandoned. Files named by resume data, or handed over to a program, have another name and are never touched.
enum AbandonedFiles {
    private static let visited = Mutex<Set<ExactText>>([])

    /// A program with more directories than this visits some again.
    private static let maximumVisited = 1000

    /// Removes them from `directory` on another thread, once per process. Any thread; never blocks.
    static func removeOnce(from directory: URL) {
        let isFirst = visited.withLock { visited in
            if visited.count >= maximumVisited { visited = [] }
            return visited.insert(ExactText(directory.path)).inserted
        }
        guard isFirst else { return }
        WorkThreads.files.run { remove(from: directory) }
    }

    /// Blocks. Files that can't be read or removed are left alone.
    static func remove(from directory: URL) {
        guard let names = try? DirectoryNames(directory.path) else { return }
        while let name = try? names.next() {
            guard TemporaryName.active.matches(name) else { continue }
            // Other users may have put files there. A file that has other names, such as an agent's, keeps those.
            LockedFile.removeAbandoned(name, in: names.descriptor) { status in
                status.st_mode == S_IFREG | 0o600 && status.st_uid == geteuid()
            }
        }
    }
}
