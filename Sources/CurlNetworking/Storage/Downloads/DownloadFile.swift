import CCurlNetworkingLinux
import CurlTransport
import Foundation
import Glibc

/// The private temporary file that a download is written to.
///
/// A `LockedFile` with an unguessable name: see `AbandonedFiles`. Used by one thread at a time. Must be ended with one of `finish()`,
/// `keep()` and `remove()`.
final class DownloadFile {
    private(set) var url: URL
    private var descriptor: Int32
    private(set) var length: Int64 = 0

    /// Throws if the directory isn't writable or the system is out of descriptors.
    init(in directory: URL) throws(URLError) {
        AbandonedFiles.removeOnce(from: directory)
        var url = directory
        do throws(SystemError) {
            let file = try LockedFile.create(O_RDWR) {
                url = directory.appendingPathComponent(TemporaryName.active.make(), isDirectory: false)
                return url.path
            }
            descriptor = file.descriptor
            self.url = url
        } catch {
            throw URLError(
                .cannotCreateFile,
                url: url,
                "The download's file could not be created: \(error).",
                cause: error
            )
        }
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
            throw URLError(.cannotWriteToFile, url: url, "The download could not be written: \(error).", cause: error)
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
                throw URLError(.cannotOpenFile, url: url, "The partial file could not be read.", cause: .current)
            }
            try write(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            offset += off_t(count)
        }
    }

    /// Describes the incomplete file, which is still growing and is kept if this process ends. The lock tells other processes that it is in
    /// use. nil if the file has been removed, or the system refuses.
    func describe() -> PartialFile? {
        guard isInPlace, LockedFile.lock(descriptor), hasName(.kept) else { return nil }
        return PartialFile(describing: descriptor, at: url, isGrowing: true)
    }

    /// Closes the complete file, which stays in place. Throws if it has been removed meanwhile.
    func finish() throws(URLError) -> DownloadedFile {
        guard isInPlace else {
            remove()
            throw URLError(.cannotOpenFile, url: url, "The download's file has disappeared from its directory.")
        }
        let kept = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard kept >= 0 else {
            let error = SystemError.current
            remove()
            throw URLError(.cannotOpenFile, url: url, "The download's file can't be kept open: \(error).", cause: error)
        }
        let file = DownloadedFile(url: url, descriptor: kept)
        guard close() == 0 else {
            let error = SystemError.current
            file.removeIfStillThere()
            throw URLError(.cannotCloseFile, url: url, "The download could not be written: \(error).", cause: error)
        }
        return file
    }

    /// Closes the file and keeps it for resuming, with a name of the form `name`. nil if it has been removed.
    func keep(as name: TemporaryName = .kept) -> PartialFile? {
        guard isInPlace, hasName(name), let partial = PartialFile(describing: descriptor, at: url) else {
            remove()
            return nil
        }
        _ = close()
        return partial
    }

    /// Renames the file, once, so that it no longer counts as abandoned. Returns false if that fails.
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

    private var isInPlace: Bool { LockedFile.isInPlace(url.path, descriptor) }

    /// Whether the file system is known to be on a disk of this machine, or in its memory. Others may be at the other end of a network, or
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
            throw URLError(.cannotOpenFile, url: source, "The download's file could not be opened.", cause: .current)
        }
        let linked = directory.appendingPathComponent(TemporaryName.active.make(), isDirectory: false)
        // Locked before it has the name: otherwise another process would remove it. On file systems without locks none does.
        if !LockedFile.isLockedElsewhere(opened), link(source.path, linked.path) == 0 {
            url = linked
            descriptor = opened
            return
        }
        defer { close(opened) }
        var status = stat()
        guard fstat(opened, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw URLError(.cannotOpenFile, url: source, "The download's file could not be opened.", cause: .current)
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

    /// Removes the file on failure.
    private static func duplicate(_ descriptor: Int32, of url: URL) throws(URLError) -> Int32 {
        let duplicate = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard duplicate < 0 else { return duplicate }
        let error = SystemError.current
        unlink(url.path)
        throw URLError(.cannotOpenFile, url: url, "The download's file could not be opened.", cause: error)
    }

    /// Closing a file is slow on some file systems.
    deinit {
        let descriptor = descriptor
        WorkThreads.files.run { close(descriptor) }
    }

    /// Hands the file over to the caller, who must move or delete it, and returns its new location. Throws, and deletes it, if it
    /// can't be renamed so that it no longer counts as abandoned: other processes would remove it.
    func handOver() throws(URLError) -> URL {
        var (open, named) = (stat(), stat())
        let isOpen = fstat(descriptor, &open) == 0
        if isOpen, lstat(url.path, &named) != 0 || !LockedFile.isSame(open, named) { return url }
        if isOpen, let kept = renameToKeep(url) { return kept }
        let error = SystemError.current
        // The error doesn't tell the program where the file is.
        removeIfStillThere()
        throw URLError(.cannotMoveFile, url: url, "The download's file could not be renamed: \(error).", cause: error)
    }

    /// Deletes the file if it is still in place; a file that its owner has put there is kept.
    func removeIfStillThere() {
        if LockedFile.isInPlace(url.path, descriptor) { unlink(url.path) }
    }
}

/// Renames the file at `url` so that it no longer counts as abandoned; nil if that fails.
private func renameToKeep(_ url: URL, as name: TemporaryName = .kept) -> URL? {
    let kept = url.deletingLastPathComponent().appendingPathComponent(name.make(), isDirectory: false)
    return rename(url.path, kept.path) == 0 ? kept : nil
}
