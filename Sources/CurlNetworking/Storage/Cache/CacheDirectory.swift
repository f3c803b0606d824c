import CurlTransport
import Foundation
import Glibc

/// The directory of a cache on disk: one file for each entry, with the entry's name.
///
/// Several processes may use it at once, and any of them may be killed at any moment: readers always see complete entries (`AtomicFile`).
/// Nothing is synced: damage by a system crash is detected by the entry's checksum. The directory gets mode 0700, and its files 0600: files
/// with another mode, and what is in another user's directory, aren't used. Every call may block.
final class CacheDirectory: Sendable {
    /// Identifies a version of an entry.
    struct FileIdentity: Equatable, Sendable {
        fileprivate let inode: ino_t
        /// Set by the writer, in nanoseconds.
        fileprivate let written: timespec

        fileprivate init(_ status: stat) {
            inode = status.st_ino
            written = status.st_mtim
        }

        static func == (a: Self, b: Self) -> Bool {
            a.inode == b.inode && a.written.tv_sec == b.written.tv_sec && a.written.tv_nsec == b.written.tv_nsec
        }
    }

    /// An entry in a listing.
    struct Item {
        let name: String
        let size: Int
        let written: Date
        let used: Date
    }

    /// The result of reading an entry.
    enum Content {
        case none
        /// The entry can't be used.
        case damaged
        case entry(header: CacheFile.Header, description: Data, body: Data, FileIdentity)
    }

    let path: String

    init(path: String) {
        self.path = path
    }

    // MARK: - One entry

    /// Reads the entry. One whose file is longer than `sizeLimit` is ignored.
    func read(_ name: String, sizeLimit: Int) -> Content {
        // Without O_NONBLOCK, opening a pipe of that name would wait for a writer.
        let descriptor = uninterrupted { open(file(name), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) }
        // ELOOP: a symbolic link. Other errors may be temporary.
        guard descriptor >= 0 else { return errno == ELOOP ? .damaged : .none }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return .none }
        guard status.isPrivateFile else { return .damaged }
        let length = Int(status.st_size)
        guard length <= sizeLimit else { return .none }
        let head = Self.read(descriptor, count: min(CacheFile.Header.length, length))
        guard let header = head?.withUnsafeBytes({ CacheFile.Header($0, fileLength: length) }),
            let description = Self.read(descriptor, count: header.descriptionLength),
            let body = Self.read(descriptor, count: header.bodyLength)
        else { return .damaged }
        return .entry(header: header, description: description, body: body, FileIdentity(status))
    }

    /// The current version of the entry; nil if there is none.
    func identity(of name: String) -> FileIdentity? {
        var status = stat()
        return lstat(file(name), &status) == 0 ? FileIdentity(status) : nil
    }

    /// Marks the entry as used last.
    func touch(_ name: String) {
        // The modification time is part of its identity.
        let times = [timespec.now, timespec(tv_sec: 0, tv_nsec: Self.omit)]
        utimensat(AT_FDCWD, file(name), times, AT_SYMLINK_NOFOLLOW)
    }

    /// Writes the entry, replacing any existing one. `growth` is how much more space is used, in bytes. Returns nil if it can't be written.
    func write(_ name: String, head: [UInt8], body: Data) -> (identity: FileIdentity, growth: Int)? {
        guard isUsable else { return nil }
        let path = file(name)
        return try? AtomicFile.write(path, writers: .manyWithLocks, sync: .never) { descriptor throws(SystemError) in
            try head.withUnsafeBytes { DescriptorBytes.write($0, to: descriptor) }.get()
            try body.withUnsafeBytes { DescriptorBytes.write($0, to: descriptor) }.get()
            let now = timespec.now
            futimens(descriptor, [now, now])
            var (old, new) = (stat(), stat())
            let replaced = lstat(path, &old) == 0 ? Self.room(for: Int(old.st_size)) : 0
            guard fstat(descriptor, &new) == 0 else { throw .current }
            return (FileIdentity(new), Self.room(for: head.count + body.count) - replaced)
        }
    }

    /// Returns how much space was freed, in bytes.
    @discardableResult
    func remove(_ name: String) -> Int {
        var status = stat()
        guard lstat(file(name), &status) == 0, unlink(file(name)) == 0 else { return 0 }
        return Self.room(for: Int(status.st_size))
    }

    // MARK: - All entries

    /// Lists the whole directory, and removes entries' temporary files that killed processes left. Returns nothing if it is a symbolic link
    /// or another user's: the files there aren't ours.
    func list() -> [Item] {
        let descriptor = uninterrupted { open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) }
        guard descriptor >= 0 else { return [] }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_uid == geteuid() else {
            close(descriptor)
            return []
        }
        guard let names = try? DirectoryNames(closing: descriptor) else { return [] }
        var items: [Item] = []
        while let name = try? names.next() {
            if Self.isEntryName(name) {
                if let item = item(name) { items.append(item) }
            } else if AtomicFile.target(ofTemporary: name).map(Self.isEntryName) ?? false {
                LockedFile.removeAbandoned(file(name))
            }
        }
        return items
    }

    private func item(_ name: String) -> Item? {
        var status = stat()
        guard lstat(file(name), &status) == 0 else { return nil }
        return Item(
            name: name,
            size: Self.room(for: Int(status.st_size)),
            written: Date(status.st_mtim),
            used: max(Date(status.st_mtim), Date(status.st_atim))
        )
    }

    /// The space that a file uses, in bytes: whole blocks.
    static func room(for length: Int) -> Int {
        let block = 4096
        return length > Int.max - block ? length : (length + block - 1) / block * block
    }

    /// `UTIME_OMIT`.
    private static let omit = (1 << 30) - 2

    /// Whether the name is one of `DiskCache`'s. Other files are left alone, except for entries' temporary files.
    private static func isEntryName(_ name: some StringProtocol) -> Bool {
        name.utf8.count == 64 && name.utf8.allSatisfy(\.isLowercaseHexDigit)
    }

    // MARK: - The directory itself

    private func file(_ name: String) -> String { path + "/" + name }

    /// Whether the directory is this user's. Creates it if it is missing, and denies others access to it.
    private var isUsable: Bool {
        // If that fails, or another process is first, it is looked at all the same.
        if access(path, F_OK) != 0 {
            try? FileManager.default.createPrivateFolder(URL(fileURLWithPath: path, isDirectory: true))
        }
        return (try? FileManager.default.makeFolderPrivate(atPath: path)) ?? false
    }

    // MARK: - Bytes

    /// Reads into uninitialised memory, to save zeroing it. nil if there is too little of it: lengths in a file need not make sense.
    private static func read(_ descriptor: Int32, count: Int) -> Data? {
        guard count > 0 else { return Data() }
        guard let memory = malloc(count) else { return nil }
        guard read(descriptor, into: UnsafeMutableRawBufferPointer(start: memory, count: count)) else {
            free(memory)
            return nil
        }
        return Data(bytesNoCopy: memory, count: count, deallocator: .free)
    }

    private static func read(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer) -> Bool {
        DescriptorBytes.read(descriptor, into: buffer) == .success(buffer.count)
    }
}

extension stat {
    /// Whether it is this user's file, inaccessible to all others.
    fileprivate var isPrivateFile: Bool {
        st_mode & S_IFMT == S_IFREG && st_uid == geteuid() && st_mode & 0o077 == 0
    }
}

extension timespec {
    fileprivate static var now: timespec {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return time
    }
}

extension Date {
    fileprivate init(_ time: timespec) {
        self.init(timeIntervalSince1970: TimeInterval(time.tv_sec) + TimeInterval(time.tv_nsec) / 1_000_000_000)
    }
}
