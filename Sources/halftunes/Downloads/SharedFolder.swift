import Foundation
import Glibc

/// A folder for private files that programs use concurrently. Each holds a shared lock on it, so the last to leave can tell that it is.
final class SharedFolder: Sendable {
    let url: URL
    private let descriptor: Int32

    /// Creates the folder with access for its owner only, or takes the one that is there.
    ///
    /// - Parameter tidy: Called at once if no other program uses it.
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
            // Another program that held the lock may have removed the folder meanwhile.
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

    /// Whether only its owner, this process's user, can access its content.
    var isPrivate: Bool {
        var status = stat()
        return fstat(descriptor, &status) == 0 && status.st_uid == geteuid() && status.st_mode & 0o077 == 0
    }

    /// The names of its entries.
    var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? [] }

    /// Removes files from this very folder, whatever now has its name.
    func remove(_ names: [String]) {
        for name in names { unlinkat(descriptor, name, 0) }
    }

    /// If no other program uses the folder, calls `tidy`, and removes the folder if that leaves it empty. Don't use the object afterwards.
    func leave(_ tidy: () -> Void = {}) {
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { return }
        tidy()
        rmdir(url.path)
        // Other programs may want a folder that stays.
        flock(descriptor, LOCK_UN)
    }
}
