import CurlTransport
import Foundation
import Glibc

extension FileManager {
    /// Creates the folder, and any missing ones above it, for the user alone. Throws if it exists, or with the reason for which it, or one
    /// above it, can't be made.
    func createPrivateFolder(_ folder: URL) throws(SystemError) {
        if mkdir(folder.path, 0o700) == 0 { return }
        guard errno == ENOENT, folder.pathComponents.count > 1 else { throw .current }
        do throws(SystemError) {
            try createPrivateFolder(folder.deletingLastPathComponent())
        } catch {
            // Another process may have made it meanwhile.
            guard error.code == EEXIST else { throw error }
        }
        guard mkdir(folder.path, 0o700) == 0 else { throw .current }
    }

    /// Makes a folder accessible to this user only. Returns false if it is another user's.
    ///
    /// Throws if it can't be opened, as what isn't a folder can't, such as a symbolic link to one.
    func makeFolderPrivate(atPath path: String) throws(SystemError) -> Bool {
        let descriptor = uninterrupted { open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) }
        guard descriptor >= 0 else { throw .current }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_uid == geteuid() else { return false }
        return status.st_mode & 0o077 == 0 || fchmod(descriptor, 0o700) == 0
    }
}
