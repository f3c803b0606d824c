import Foundation
import Glibc

/// A folder for private files that programs use at the same time. Each holds a shared lock on it, so the last to leave can tell that it is.
final class SharedFolder: Sendable {
    let url: URL
    private let descriptor: Int32

    /// Creates the folder with access for its owner only, or takes the one that is there.
    ///
    /// - Parameter tidy: Called at once if nobody else uses it.
    init(_ url: URL, tidy: () -> Void = {}) throws {
        self.url = url
        while true {
            if mkdir(url.path, 0o700) != 0, errno != EEXIST { throw SystemCallError(url.path) }
            let descriptor = open(url.path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
            guard descriptor >= 0 else {
                if errno == ENOENT { continue }
                throw SystemCallError(url.path)
            }
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { tidy() }
            // Another program that held the lock removed it meanwhile.
            flock(descriptor, LOCK_SH)
            var locked = stat()
            var named = stat()
            if fstat(descriptor, &locked) == 0, lstat(url.path, &named) == 0, locked.st_ino == named.st_ino {
                self.descriptor = descriptor
                return
            }
            close(descriptor)
        }
    }

    deinit {
        close(descriptor)
    }

    /// Whether nobody but its owner, who is this process's user, can get at what is in it.
    var isPrivate: Bool {
        var status = stat()
        return fstat(descriptor, &status) == 0 && status.st_uid == geteuid() && status.st_mode & 0o077 == 0
    }

    /// The names of what is in it.
    var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? [] }

    /// Removes files from this very folder, whatever has its name by now.
    func remove(_ names: [String]) {
        for name in names { unlinkat(descriptor, name, 0) }
    }

    /// If nobody else uses the folder, calls `tidy`, and removes the folder if that leaves nothing in it. Don't use it afterwards.
    func leave(_ tidy: () -> Void = {}) {
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { return }
        tidy()
        rmdir(url.path)
        // What stays may be wanted by others.
        flock(descriptor, LOCK_UN)
    }
}
