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

    /// Before the storage writes: if its folder is new, others can't look into it. The stock module makes it for everybody, before there is
    /// anything in it. Blocks.
    func prepare() {
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        guard access(folder, F_OK) == 0 else {
            try? FileManager.default.createPrivateFolder(atPath: folder)
            return
        }
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: folder) else { return }
        if names.isEmpty { chmod(folder, 0o700) }
        for name in names where name.hasPrefix(Self.unfinished) { removeAbandoned(folder + "/" + name) }
    }

    /// Begins the names of the files to which the stock module writes before they take the place of another.
    private static let unfinished = ".dat.nosync"

    /// What a program that was killed has left there: all of its cookies.
    private func removeAbandoned(_ path: String) {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(),
            time(nil) - status.st_mtim.tv_sec > 60 * 60
        else { return }
        unlink(path)
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
