import Foundation
import Glibc

/// The file of a stock cookie storage, which writes it world-readable.
struct CookieFile {
    private let path: String

    init(path: String) {
        self.path = path
    }

    /// nil if the storage doesn't say which file it has.
    init?(of storage: HTTPCookieStorage) {
        guard let path = Mirror(reflecting: storage).descendant("cookieFilePath") as? String else { return nil }
        self.init(path: path)
    }

    /// Called before the storage writes: makes a new folder private. The stock module makes it accessible to all users, before there is
    /// anything in it. Blocks.
    func prepare() {
        let url = URL(fileURLWithPath: path).deletingLastPathComponent()
        let folder = url.path
        guard access(folder, F_OK) == 0 else {
            try? FileManager.default.createPrivateFolder(url)
            return
        }
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: folder) else { return }
        if names.isEmpty { _ = try? FileManager.default.makeFolderPrivate(atPath: folder) }
        for name in names where name.hasPrefix(Self.unfinished) { removeAbandoned(folder + "/" + name) }
    }

    /// The prefix of the names of files that the stock module writes before they replace another.
    private static let unfinished = ".dat.nosync"

    /// Removes what a killed program left there: all of its cookies.
    private func removeAbandoned(_ path: String) {
        var status = stat()
        // A file may have any date, too far from today for its age to be a number.
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(),
            status.st_mtim.tv_sec < time(nil) - 60 * 60
        else { return }
        unlink(path)
    }

    /// Called after the storage has replaced the file: makes it readable by this user only. Blocks.
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
