import CurlTransport
import Glibc

/// A file that is locked (`flock`) while it is written. The system releases the lock when the process ends, however it ends. So an unlocked
/// file with such a name was left by a killed process, and any process may remove it.
struct LockedFile {
    let path: String
    /// The caller closes it, which ends the lock.
    let descriptor: Int32
    /// False on a file system without locks. There, files that killed processes leave stay.
    let isLocked: Bool

    /// Creates a file of mode 0600. `name` makes the path of one that doesn't exist: it is called again if another process removed the new
    /// file before it was locked.
    ///
    /// - Parameter access: `O_WRONLY` or `O_RDWR`.
    static func create(_ access: Int32, _ name: () -> String) throws(SystemError) -> LockedFile {
        while true {
            let path = name()
            let flags = access | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
            let descriptor = uninterrupted { open(path, flags, 0o600) }
            guard descriptor >= 0 else { throw .current }
            let isLocked = lock(descriptor)
            if isLocked || errno != EWOULDBLOCK, isInPlace(path, descriptor) {
                return LockedFile(path: path, descriptor: descriptor, isLocked: isLocked)
            }
            close(descriptor)
        }
    }

    /// Removes the file `name` of `directory`, unless it is a link or locked by another process. Files that can't be opened, locked or
    /// removed are left alone.
    ///
    /// - Parameter isOurs: Whether it may be removed.
    static func removeAbandoned(
        _ name: String,
        in directory: Int32 = AT_FDCWD,
        where isOurs: (stat) -> Bool = { _ in true }
    ) {
        // Without O_NONBLOCK, opening a pipe of that name would wait for a writer.
        let file = uninterrupted { openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) }
        guard file >= 0 else { return }
        defer { close(file) }
        var (open, named) = (stat(), stat())
        guard fstat(file, &open) == 0, isOurs(open), lock(file),
            // Its owner may have renamed or removed it before it was locked here.
            fstatat(directory, name, &named, AT_SYMLINK_NOFOLLOW) == 0, isSame(open, named)
        else { return }
        unlinkat(directory, name, 0)
    }

    /// Locks the open file. If this returns false, `errno` says why: `EWOULDBLOCK` if another process writes or is about to remove it.
    static func lock(_ descriptor: Int32) -> Bool {
        flock(descriptor, LOCK_EX | LOCK_NB) == 0
    }

    /// Locks the open file. Returns true if it is already locked elsewhere: never on file systems without locks.
    static func isLockedElsewhere(_ descriptor: Int32) -> Bool {
        !lock(descriptor) && errno == EWOULDBLOCK
    }

    /// Whether `path` names the open file.
    static func isInPlace(_ path: String, _ descriptor: Int32) -> Bool {
        var (open, named) = (stat(), stat())
        return fstat(descriptor, &open) == 0 && lstat(path, &named) == 0 && isSame(open, named)
    }

    /// Whether both describe one file.
    static func isSame(_ a: stat, _ b: stat) -> Bool {
        a.st_ino == b.st_ino && a.st_dev == b.st_dev
    }
}
