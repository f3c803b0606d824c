import CurlNetworking
import Foundation
import Glibc

/// A complete file that has yet to be checked, under a name that says which address it is from.
///
/// It is locked as long as this object exists: programs that download from the same address don't take each other's. It is never tidied
/// away, and a killed program's is no longer locked, so the next one that wants the file finds it.
final class Arrival: Sendable {
    let file: URL
    /// In bytes.
    let length: Int64
    private let descriptor: Int32

    /// Moves a downloaded file from its temporary location into `folder`, on the same file system.
    init(_ location: URL, from address: URL, in folder: URL) throws {
        let name = "\(Self.prefix(address))\(UUID().uuidString)\(Self.suffix)"
        file = folder.appendingPathComponent(name, isDirectory: false)
        (descriptor, length) = try Self.open(location)
        // Before it has a name that other programs look for.
        Self.lock(descriptor)
        try PrivateFile.move(location, to: file)
    }

    /// nil if another program has it.
    private init?(leftAt file: URL) {
        guard let (descriptor, length) = try? Self.open(file) else { return nil }
        (self.file, self.descriptor, self.length) = (file, descriptor, length)
        // The program that had it a moment ago may have put it in its place.
        guard Self.lock(descriptor), access(file.path, F_OK) == 0 else { return nil }
    }

    deinit {
        close(descriptor)
    }

    /// A file that a killed program left in `folder`; nil if there is none.
    static func left(from address: URL, in folder: URL) -> Arrival? {
        let prefix = prefix(address)
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        where name.hasPrefix(prefix) && name.hasSuffix(suffix) {
            if let arrival = Arrival(leftAt: folder.appendingPathComponent(name, isDirectory: false)) { return arrival }
        }
        return nil
    }

    private static let suffix = ".arrived"

    private static func prefix(_ address: URL) -> String {
        SHA256.digest(of: address.absoluteString.utf8) + "."
    }

    /// False if another program has a lock on the file. Not a `flock` lock: the session holds that until the download has been reported.
    @discardableResult
    private static func lock(_ descriptor: Int32) -> Bool {
        let setLock: Int32 = 37  // F_OFD_SETLK, which Glibc's module doesn't show
        var all = Glibc.flock(l_type: Int16(F_WRLCK), l_whence: Int16(SEEK_SET), l_start: 0, l_len: 0, l_pid: 0)
        return fcntl(descriptor, setLock, &all) == 0
    }

    private static func open(_ file: URL) throws -> (descriptor: Int32, length: Int64) {
        let descriptor = Glibc.open(file.path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { throw SystemCallError(file.path) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw CocoaError(.fileReadUnknown, userInfo: [NSFilePathErrorKey: file.path])
        }
        return (descriptor, Int64(status.st_size))
    }
}
