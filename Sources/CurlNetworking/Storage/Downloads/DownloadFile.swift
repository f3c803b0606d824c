import CCurlNetworkingLinux
import CurlTransport
import Foundation
import Glibc

/// The private temporary file that a download is written to.
///
/// Created exclusively, with mode 0600 and an unguessable name, and locked: see `AbandonedFiles`. Used by one thread at a time.
/// Must be ended with one of `finish()`, `keep()` and `remove()`.
final class DownloadFile {
    private(set) var url: URL
    private var descriptor: Int32
    private(set) var length: Int64 = 0

    /// Throws if the directory isn't writable or the system is out of descriptors.
    init(in directory: URL) throws(URLError) {
        AbandonedFiles.removeOnce(from: directory)
        repeat {
            let url = directory.appendingPathComponent(TemporaryName.active.make(), isDirectory: false)
            self.url = url
            descriptor = uninterrupted { open(url.path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600) }
            guard descriptor >= 0 else {
                let error = SystemError.current
                throw URLError(.cannotCreateFile, url, "The download's file could not be created: \(error).", error)
            }
        } while !isLocked()
    }

    /// False if another process, removing abandoned files, removed this one before it could be locked. Can't happen on file systems without
    /// locks.
    private func isLocked() -> Bool {
        if !isLockedElsewhere(descriptor), isInPlace { return true }
        _ = close()
        return false
    }

    /// A copy of `partial`, to append to. The original can be resumed from until this download has got further, even if the process dies,
    /// and by any number of downloads at once. nil if `partial` is gone or has changed. Blocks; not for the loop.
    convenience init?(copying partial: PartialFile, in directory: URL) throws(URLError) {
        guard let source = partial.open(in: directory) else { return nil }
        defer { Glibc.close(source) }
        try self.init(copying: partial, from: source, in: directory)
    }

    /// The same, of a file that may be in another directory, and is open as `source`.
    convenience init?(copying partial: PartialFile, from source: Int32, in directory: URL) throws(URLError) {
        try self.init(in: directory)
        do throws(URLError) {
            try copy(from: source, length: partial.length(of: source))
        } catch {
            remove()
            throw error
        }
        guard partial.isUnchanged(source) else {
            remove()
            return nil
        }
    }

    deinit {
        assert(descriptor < 0, "a DownloadFile must be finished, kept or removed")
    }

    /// Appends all of `bytes`. Blocks for as long as the file system takes.
    func write(_ bytes: UnsafeRawBufferPointer) throws(URLError) {
        do throws(SystemError) {
            try DescriptorBytes.write(bytes, to: descriptor, counting: &length).get()
        } catch {
            throw URLError(.cannotWriteToFile, url, "The download could not be written: \(error).", error)
        }
    }

    /// Appends the first `length` bytes of the open file `source`. Blocks; not for the loop.
    func copy(from source: Int32, length wanted: Int64) throws(URLError) {
        var offset = off_t(0)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 4096)
        defer { buffer.deallocate() }
        while offset < wanted {
            let part = Int(min(Int64(buffer.count), wanted - Int64(offset)))
            let count = uninterrupted { pread(source, buffer.baseAddress, part, offset) }
            guard count > 0 else {
                throw URLError(.cannotOpenFile, url, "The partial file could not be read.", .current)
            }
            try write(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            offset += off_t(count)
        }
    }

    /// Describes the incomplete file, which is still growing and is kept if this process ends. The lock tells other processes that it is in
    /// use. nil if someone else removed the file, or the system refuses.
    func describe() -> PartialFile? {
        guard isInPlace, flock(descriptor, LOCK_EX | LOCK_NB) == 0, hasName(.kept) else { return nil }
        return PartialFile(describing: descriptor, at: url, isGrowing: true)
    }

    /// Closes the complete file, which stays in place. Throws if someone else has removed it meanwhile.
    func finish() throws(URLError) -> DownloadedFile {
        guard isInPlace else {
            remove()
            throw URLError(.cannotOpenFile, url, "The download's file has disappeared from its directory.")
        }
        let kept = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard kept >= 0 else {
            let error = SystemError.current
            remove()
            throw URLError(.cannotOpenFile, url, "The download's file can't be kept open: \(error).", error)
        }
        let file = DownloadedFile(url: url, descriptor: kept)
        guard close() == 0 else {
            let error = SystemError.current
            file.removeIfStillThere()
            throw URLError(.cannotCloseFile, url, "The download could not be written: \(error).", error)
        }
        return file
    }

    /// Closes the file and keeps it for resuming, with a name of the form `name`. nil if someone else has removed it.
    func keep(as name: TemporaryName = .kept) -> PartialFile? {
        guard isInPlace, hasName(name), let partial = PartialFile(describing: descriptor, at: url) else {
            remove()
            return nil
        }
        _ = close()
        return partial
    }

    /// Renames the file, once, so that it no longer counts as abandoned. False if that fails.
    private func hasName(_ name: TemporaryName) -> Bool {
        if name.matches(url.lastPathComponent) { return true }
        guard let kept = renameToKeep(url, as: name) else { return false }
        url = kept
        return true
    }

    /// Closes and deletes the file.
    func remove() {
        if isInPlace { unlink(url.path) }
        _ = close()
    }

    private var isInPlace: Bool { isNamed(url, descriptor) }

    /// Whether the file system is known to be one on a disk, or in the memory, of this machine. Others may be at the other end of a network, or
    /// in another program (statfs(2)).
    var isOnLocalDisk: Bool {
        var status = statfs()
        guard fstatfs(descriptor, &status) == 0 else { return false }
        return Self.localFileSystems.contains(UInt32(truncatingIfNeeded: status.f_type))
    }

    /// ext2 to ext4, XFS, Btrfs, F2FS, ZFS, bcachefs, overlays such as a container's, tmpfs and ramfs.
    private static let localFileSystems: Set<UInt32> = [
        0xEF53, 0x5846_5342, 0x9123_683E, 0xF2F5_2010, 0x2FC1_2FC1, 0xCA45_1A4E, 0x794C_7630, 0x0102_1994, 0x8584_58F6,
    ]

    private func close() -> Int32 {
        defer { descriptor = -1 }
        return Glibc.close(descriptor)
    }
}

/// A complete download, until its owner has moved it or it is deleted.
///
/// It stays open until then: otherwise the file system could reuse its inode for a file that the owner puts in its place.
final class DownloadedFile: Sendable {
    let url: URL
    private let descriptor: Int32

    fileprivate init(url: URL, descriptor: Int32) {
        self.url = url
        self.descriptor = descriptor
    }

    /// Another name in `directory` for the complete file at `source`, or a copy if that is on another file system, or locked by another
    /// process. The name at `source` is left to its owner. Blocks.
    init(linking source: URL, in directory: URL) throws(URLError) {
        AbandonedFiles.removeOnce(from: directory)
        let opened = uninterrupted { open(source.path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK) }
        guard opened >= 0 else {
            throw URLError(.cannotOpenFile, source, "The download's file could not be opened.", .current)
        }
        let linked = directory.appendingPathComponent(TemporaryName.active.make(), isDirectory: false)
        // Locked before it has the name: otherwise another process would remove it. On file systems without locks none does.
        if !isLockedElsewhere(opened), link(source.path, linked.path) == 0 {
            url = linked
            descriptor = opened
            return
        }
        defer { close(opened) }
        var status = stat()
        guard fstat(opened, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw URLError(.cannotOpenFile, source, "The download's file could not be opened.", .current)
        }
        let copy = try DownloadFile(in: directory)
        do throws(URLError) {
            try copy.copy(from: opened, length: Int64(status.st_size))
        } catch {
            copy.remove()
            throw error
        }
        let finished = try copy.finish()
        url = finished.url
        descriptor = try Self.duplicate(finished.descriptor, of: finished.url)
    }

    /// Removes the file if that fails.
    private static func duplicate(_ descriptor: Int32, of url: URL) throws(URLError) -> Int32 {
        let duplicate = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard duplicate < 0 else { return duplicate }
        let error = SystemError.current
        unlink(url.path)
        throw URLError(.cannotOpenFile, url, "The download's file could not be opened.", error)
    }

    /// Some file systems take their time to close a file.
    deinit {
        let descriptor = descriptor
        WorkThreads.files.run { close(descriptor) }
    }

    /// Hands the file over to the caller, who must move or delete it, and returns its new location. Throws, and deletes it, if it
    /// can't be renamed so that it no longer counts as abandoned: other processes would remove it.
    func handOver() throws(URLError) -> URL {
        var (open, named) = (stat(), stat())
        let isOpen = fstat(descriptor, &open) == 0
        if isOpen, lstat(url.path, &named) != 0 || !isSame(open, named) { return url }
        if isOpen, let kept = renameToKeep(url) { return kept }
        let error = SystemError.current
        // The error doesn't tell the program where it is.
        removeIfStillThere()
        throw URLError(.cannotMoveFile, url, "The download's file could not be renamed: \(error).", error)
    }

    /// Deletes the file if it is still in place; a file that its owner has put there is kept.
    func removeIfStillThere() {
        if isNamed(url, descriptor) { unlink(url.path) }
    }
}

/// Whether `url` names the file open as `descriptor`.
private func isNamed(_ url: URL, _ descriptor: Int32) -> Bool {
    var open = stat()
    var named = stat()
    return fstat(descriptor, &open) == 0 && lstat(url.path, &named) == 0 && isSame(open, named)
}

/// Whether both describe one file.
private func isSame(_ a: stat, _ b: stat) -> Bool {
    a.st_ino == b.st_ino && a.st_dev == b.st_dev
}

/// Locks the open file; true if somebody else has done so, who is writing a download to it or about to remove it. On file systems without locks
/// nobody ever has.
func isLockedElsewhere(_ descriptor: Int32) -> Bool {
    flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK
}

/// Renames the file at `url` so that it no longer counts as abandoned; nil if that fails.
private func renameToKeep(_ url: URL, as name: TemporaryName = .kept) -> URL? {
    let kept = url.deletingLastPathComponent().appendingPathComponent(name.make(), isDirectory: false)
    return rename(url.path, kept.path) == 0 ? kept : nil
}

/// Describes a partial file on disk well enough to tell later whether it is still the same, byte for byte.
struct PartialFile: Codable, Equatable, Sendable {
    /// The file's name in the directory for temporary files.
    var name: String
    var directory: String
    /// In bytes.
    var length: Int64
    var inode: UInt64
    /// When the file's content or state last changed (ctime), which no program can set back.
    var changedSeconds: Int64
    var changedNanoseconds: Int64
    /// Whether bytes may have been appended since. nil means no.
    var isGrowing: Bool?

    /// Where it is, if the description is to be believed.
    var folder: URL { URL(fileURLWithPath: directory, isDirectory: true) }

    /// nil if the system won't describe it.
    init?(describing descriptor: Int32, at url: URL, isGrowing: Bool = false) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        name = url.lastPathComponent
        directory = url.deletingLastPathComponent().standardizedFileURL.path
        length = Int64(status.st_size)
        inode = UInt64(status.st_ino)
        changedSeconds = Int64(status.st_ctim.tv_sec)
        changedNanoseconds = Int64(status.st_ctim.tv_nsec)
        self.isGrowing = isGrowing ? true : nil
    }

    /// Opens the file for reading if it is one of ours in `directory`, for the purpose of `form`, private and unchanged; otherwise nil.
    ///
    /// The description is untrusted: the name must have the form of ours, so that it can only name a file in `directory`; links are not
    /// followed; and a file that others can access is not touched.
    func open(in directory: URL, as form: TemporaryName = .kept) -> Int32? {
        guard form.matches(name), directory.standardizedFileURL.path == self.directory else { return nil }
        let path = directory.appendingPathComponent(name, isDirectory: false).path
        let descriptor = uninterrupted { Glibc.open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK) }
        guard descriptor >= 0 else { return nil }
        guard isUnchanged(descriptor) else {
            close(descriptor)
            return nil
        }
        return descriptor
    }

    /// Whether the open file is the one described, and private.
    func isUnchanged(_ descriptor: Int32) -> Bool {
        var status = stat()
        return fstat(descriptor, &status) == 0 && describes(status)
    }

    /// Whether the file is in its directory, private and unchanged. Opens nothing, so a process without descriptors is told as well.
    func isThere(as form: TemporaryName = .kept) -> Bool {
        var status = stat()
        return form.matches(name)
            && lstat(folder.appendingPathComponent(name, isDirectory: false).path, &status) == 0 && describes(status)
    }

    /// Whether this describes a file in `directory`.
    func isIn(_ directory: URL) -> Bool {
        folder.resolvingSymlinksInPath().path == directory.resolvingSymlinksInPath().path
    }

    private func describes(_ status: stat) -> Bool {
        guard status.st_mode == S_IFREG | 0o600 && status.st_uid == geteuid() && status.st_nlink == 1,
            UInt64(status.st_ino) == inode
        else { return false }
        let changed = (Int64(status.st_ctim.tv_sec), Int64(status.st_ctim.tv_nsec))
        let known = (changedSeconds, changedNanoseconds)
        if isGrowing == true { return Int64(status.st_size) >= length && changed >= known }
        return Int64(status.st_size) == length && changed == known
    }

    /// How many bytes of the open file a download can continue from: for a growing file all of it, since its download only appends.
    func length(of descriptor: Int32) -> Int64 {
        var status = stat()
        guard isGrowing == true, fstat(descriptor, &status) == 0 else { return length }
        return max(length, Int64(status.st_size))
    }

    /// Moves the file to another directory, where it is called `name`; nil if it isn't the one described any more, or can't be moved. A file that
    /// was moved there before is found, so a process can be killed at any time and have the next one do the same. On another file system the
    /// file is copied, under another name, and so is one to which a download is being written: the original is left to its owner. Blocks.
    func moved(to directory: URL, as name: String) -> PartialFile? {
        guard TemporaryName.kept.matches(name) else { return nil }
        guard let source = open(in: folder) else { return movedEarlier(to: directory, as: name) }
        defer { close(source) }
        let url = directory.appendingPathComponent(name, isDirectory: false)
        let isInUse = isLockedElsewhere(source)
        if !isInUse, rename(folder.appendingPathComponent(self.name, isDirectory: false).path, url.path) == 0 {
            return PartialFile(describing: source, at: url)
        }
        guard isInUse || errno == EXDEV, let copy = try? DownloadFile(copying: self, from: source, in: directory) else {
            return nil
        }
        return copy.keep()
    }

    /// The file where it was moved before; that has changed its state, but not its content.
    private func movedEarlier(to directory: URL, as name: String) -> PartialFile? {
        let there = place(named: name, in: directory)
        guard let descriptor = there.open(in: directory) else { return nil }
        defer { close(descriptor) }
        let url = directory.appendingPathComponent(name, isDirectory: false)
        guard let found = PartialFile(describing: descriptor, at: url), isGrowing == true || found.length == length
        else { return nil }
        return found
    }

    /// The file as it will be described once it has been moved.
    func place(named name: String, in directory: URL) -> PartialFile {
        var there = self
        (there.name, there.directory) = (name, directory.standardizedFileURL.path)
        there.isGrowing = true
        return there
    }

    /// Deletes the file if it is still the one described, and no download is appending to it.
    func remove(in directory: URL, as form: TemporaryName = .kept) {
        guard let descriptor = open(in: directory, as: form) else { return }
        defer { close(descriptor) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { return }
        unlink(directory.appendingPathComponent(name, isDirectory: false).path)
    }
}
