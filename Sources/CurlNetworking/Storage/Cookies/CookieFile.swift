import Foundation
import Glibc

/// The file of a stock cookie storage, which that writes for everybody to read.
struct CookieFile {
    private let path: String

    /// nil if the storage doesn't say which file it has.
    init?(of storage: HTTPCookieStorage) {
        guard let path = Mirror(reflecting: storage).descendant("cookieFilePath") as? String else { return nil }
        self.path = path
    }

    /// Before the storage writes: if there is no folder yet, others can't look into it. Blocks.
    func prepare() {
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent()
        guard access(folder.path, F_OK) != 0 else { return }
        let mode: [FileAttributeKey: Any] = [.posixPermissions: 0o700]
        try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true, attributes: mode)
    }

    /// After it has written, which replaces the file: the user alone can read it. Blocks.
    func makePrivate() {
        let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        var status = stat()
        if fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid() {
            _ = fchmod(descriptor, 0o600)
        }
    }
}
