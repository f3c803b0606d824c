import Foundation
import Glibc

/// The folder for downloads: their files, the `.resume` files of paused ones, and a hidden folder for the partial files and for complete
/// ones that have yet to be checked.
///
/// Partial files are on the same file system as the destination, so a finished one only has to be renamed, and they survive a reboot, which
/// those in `/tmp` may not. Programs that use the folder hold a shared lock on it; the first to arrive and the last to leave remove what no
/// paused download needs, since a killed program may have left something behind.
final class DownloadFolder: Sendable {
    let url: URL
    let partials: URL
    private let shared: SharedFolder

    /// Creates the folder if there is none.
    init(_ path: String) throws {
        let url = URL(fileURLWithPath: path, isDirectory: true)
        try Self.makeDirectory(url.path)
        // Resume data records where its partial file is, so the path must be the same no matter how it was given.
        self.url = url.resolvingSymlinksInPath()
        partials = self.url.appendingPathComponent(".halftunes", isDirectory: true)
        shared = try SharedFolder(partials) { [partials, url = self.url] in
            Self.sweep(partials, needed: Self.pauseFiles(in: url))
        }
    }

    /// The command that cancels the folder's background downloads, as typed into a shell.
    var stopCommand: String { "halftunes stop -o \(url.path.shellWord)" }

    private static func makeDirectory(_ path: String) throws {
        if mkdir(path, 0o777) == 0 || errno == EEXIST { return }
        let error = SystemCallError(path)
        let parent = URL(fileURLWithPath: path).deletingLastPathComponent().path
        guard error.code == ENOENT, parent != path else { throw error }
        try makeDirectory(parent)
        guard mkdir(path, 0o777) == 0 || errno == EEXIST else { throw SystemCallError(path) }
    }

    // MARK: - Finished files

    func destination(of item: DownloadItem) -> URL {
        url.appendingPathComponent(item.fileName, isDirectory: false)
    }

    /// In bytes; nil if there is no such file.
    func length(of item: DownloadItem) -> Int64? {
        var status = stat()
        guard stat(destination(of: item).path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return Int64(status.st_size)
    }

    /// Moves a downloaded file from its temporary location to another, where it can be checked beside the file that has its name.
    func accept(_ location: URL, of item: DownloadItem) throws -> Arrival {
        try Arrival(location, from: item.url, in: partials)
    }

    /// The file that a killed program has accepted and not checked; nil if there is none.
    func uncheckedArrival(of item: DownloadItem) -> Arrival? {
        Arrival.left(from: item.url, in: partials)
    }

    /// Gives an arrived file its name, replacing any file that had it.
    func install(_ arrival: Arrival, as item: DownloadItem) throws {
        try PrivateFile.move(arrival.file, to: destination(of: item))
    }

    func remove(_ arrival: Arrival) {
        unlink(arrival.file.path)
    }

    // MARK: - Paused downloads

    func pauseFileURL(of item: DownloadItem) -> URL {
        url.appendingPathComponent(item.fileName + PauseFile.suffix, isDirectory: false)
    }

    /// All paused downloads, by name. Other files are left out.
    var pauseFiles: [PauseFile] { Self.pauseFiles(in: url) }

    private static func pauseFiles(in url: URL) -> [PauseFile] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? []
        return names.filter { $0.hasSuffix(PauseFile.suffix) }.sorted().compactMap {
            try? PauseFile(contentsOf: url.appendingPathComponent($0, isDirectory: false))
        }
    }

    /// The paused download of this item, if it is from the same address.
    func pauseFile(of item: DownloadItem) -> PauseFile? {
        let file = try? PauseFile(contentsOf: pauseFileURL(of: item))
        return file?.item.url == item.url ? file : nil
    }

    /// - Throws: If it can't be written, or a file from another address has its place: another program has chosen the same name at the same
    ///   time.
    func save(_ pauseFile: PauseFile) throws {
        let url = pauseFileURL(of: pauseFile.item)
        if let present = try? PauseFile(contentsOf: url), present.item.url != pauseFile.item.url {
            throw PauseFileError.taken(url.lastPathComponent)
        }
        try pauseFile.write(to: url, by: partials)
    }

    /// Leaves a file from another address that would have the same name.
    func removePauseFile(of item: DownloadItem) {
        guard pauseFile(of: item) != nil else { return }
        unlink(pauseFileURL(of: item).path)
    }

    // MARK: - Partial files

    /// Removes the partial files that are no longer needed, if no other program uses the folder, and then their directory if it is empty.
    /// Call it when finished.
    func tidy() {
        shared.leave { Self.sweep(partials, needed: pauseFiles) }
    }

    private static func sweep(_ partials: URL, needed: [PauseFile]) {
        for name in (try? FileManager.default.contentsOfDirectory(atPath: partials.path)) ?? []
        where name.hasSuffix(".tmp") && !needed.contains(where: { $0.mentions(name) }) {
            unlink(partials.appendingPathComponent(name, isDirectory: false).path)
        }
    }
}
