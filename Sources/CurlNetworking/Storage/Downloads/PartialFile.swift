import CCurlNetworkingLinux
import CurlTransport
import Foundation
import Glibc

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

    /// Whether the file is in its directory, private and unchanged. Opens nothing, so this works even without free descriptors.
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

    /// Moves the file to another directory, where it is called `name`; nil if it isn't the one described any more, or can't be moved. A
    /// file that was moved there earlier is found, so if a process is killed, the next one can repeat the move. If `directory` is on
    /// another file system, or a download is being written to the file, it is copied under another name, and the original is left to its
    /// owner. Blocks.
    func moved(to directory: URL, as name: String) -> PartialFile? {
        guard TemporaryName.kept.matches(name) else { return nil }
        guard let source = open(in: folder) else { return movedEarlier(to: directory, as: name) }
        defer { close(source) }
        let url = directory.appendingPathComponent(name, isDirectory: false)
        let isInUse = LockedFile.isLockedElsewhere(source)
        if !isInUse, rename(folder.appendingPathComponent(self.name, isDirectory: false).path, url.path) == 0 {
            return PartialFile(describing: source, at: url)
        }
        guard isInUse || errno == EXDEV, let copy = try? DownloadFile(copying: self, from: source, in: directory) else {
            return nil
        }
        return copy.keep()
    }

    /// The file where it was moved earlier, which changed its state, but not its content.
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
        // On a file system without locks, nobody else could tell either.
        guard !LockedFile.isLockedElsewhere(descriptor) else { return }
        unlink(directory.appendingPathComponent(name, isDirectory: false).path)
    }
}
