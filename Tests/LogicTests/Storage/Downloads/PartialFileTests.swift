import Foundation
import Glibc
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("Partial files")
struct PartialFileTests {
    let directory: TemporaryDirectory
    let partial: PartialFile
    var url: URL { directory.url.appendingPathComponent(partial.name) }

    init() throws {
        directory = try TemporaryDirectory()
        let file = try DownloadFile(in: directory.url)
        try DownloadFileTests.write("partial", to: file)
        partial = try #require(file.keep())
    }

    /// Whether the description still opens a file.
    func opens(_ partial: PartialFile? = nil, in directory: URL? = nil) -> Bool {
        guard let descriptor = (partial ?? self.partial).open(in: directory ?? self.directory.url) else { return false }
        close(descriptor)
        return true
    }

    /// The description as it would be had it been made of the file as it is now: what only an attacker could have.
    func forged() throws -> PartialFile {
        let descriptor = open(url.path, O_RDONLY | O_CLOEXEC)
        defer { close(descriptor) }
        return try #require(PartialFile(describing: descriptor, at: url))
    }

    @Test("A kept file can be opened again, as often as one likes")
    func keeping() {
        #expect(partial.length == 7)
        #expect(opens())
        #expect(opens())
    }

    @Test("A partial file says where it is, and is looked for nowhere else")
    func otherDirectory() throws {
        let other = try TemporaryDirectory()
        try FileManager.default.copyItem(at: url, to: other.url.appendingPathComponent(partial.name))
        #expect(!opens(in: other.url))
        #expect(!opens(in: directory.url.deletingLastPathComponent()))
        #expect(opens(in: directory.url.appendingPathComponent("./", isDirectory: true)), "it is the same directory")
    }

    @Test("A changed, grown or shortened file is not the same", arguments: ["Partial", "partially", "part", ""])
    func changes(content: String) throws {
        let handle = try FileHandle(forUpdating: url)
        try handle.truncate(atOffset: 0)
        try handle.write(contentsOf: Data(content.utf8))
        try handle.close()
        #expect(!opens())
    }

    @Test("A file changed behind its own time stamps is not the same")
    func resetTimes() throws {
        let handle = try FileHandle(forUpdating: url)
        try handle.write(contentsOf: Data("forgery".utf8))
        try handle.close()
        var times = [timespec(), timespec()]
        #expect(utimensat(AT_FDCWD, url.path, &times, 0) == 0)
        #expect(!opens())
    }

    @Test("Another file under its name is not the same")
    func replacement() throws {
        try FileManager.default.removeItem(at: url)
        #expect(!opens())
        try Data("partial".utf8).write(to: url)
        #expect(chmod(url.path, 0o600) == 0)
        #expect(!opens())
    }

    // In these the attacker knows everything about the file: only what kind of file it is may stop them.

    @Test(
        "A file that others may read or write, or that may be executed, is refused",
        arguments: [0o640, 0o604, 0o700, 0o622, 0o4600] as [mode_t]
    )
    func modes(mode: mode_t) throws {
        #expect(chmod(url.path, mode) == 0)
        let forged = try forged()
        #expect(!opens(forged))
        #expect(chmod(url.path, 0o600) == 0)
        #expect(try opens(self.forged()))
    }

    @Test("A file with a second name is refused")
    func hardLink() throws {
        let other = directory.url.appendingPathComponent("other")
        #expect(link(url.path, other.path) == 0)
        #expect(try !opens(forged()))
        #expect(unlink(other.path) == 0)
        #expect(try opens(forged()))
    }

    @Test("A symbolic link is not followed")
    func symbolicLink() throws {
        let target = directory.url.appendingPathComponent("target")
        #expect(rename(url.path, target.path) == 0)
        #expect(symlink(target.path, url.path) == 0)
        #expect(try !opens(forged()))
        try DownloadFile(copying: forged(), in: directory.url)?.remove()
        #expect(try Data(contentsOf: target) == Data("partial".utf8))
    }

    @Test("Another user's file is refused", .enabled(if: geteuid() == 0, "only root can give files away"))
    func owner() throws {
        #expect(chown(url.path, 65534, gid_t.max) == 0)
        #expect(try !opens(forged()))
    }

    @Test("A directory or a pipe is refused, without waiting", arguments: [true, false])
    func noFile(isPipe: Bool) throws {
        try FileManager.default.removeItem(at: url)
        if isPipe { #expect(mkfifo(url.path, 0o600) == 0) } else { #expect(mkdir(url.path, 0o600) == 0) }
        let descriptor = open(url.path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        defer { close(descriptor) }
        let forged = try #require(PartialFile(describing: descriptor, at: url))
        #expect(!opens(forged))
    }

    @Test(
        "Only names of our form are opened",
        arguments: [
            "", ".", "..", "other", "../other", "CurlNetworkingDownload_.tmp",
            "CurlNetworkingDownload_../../../etc/passwd.tmp",
            "CurlNetworkingDownload_0123456789abcdef0123456789abcdeF.tmp",
            "CurlNetworkingDownload_0123456789abcdef0123456789abcde/.tmp",
            "CurlNetworkingDownload_0123456789abcdef0123456789abcdef0.tmp",
            "CurlNetworkingDownload_0123456789abcdef0123456789abcde\u{0}.tmp",
            "/CurlNetworkingDownload_0123456789abcdef0123456789abcdef.tmp",
            "CurlNetworkingDownload_0123456789abcdef0123456789abcdef.tmp.tmp", "CurlNetworkingDownload_.tmp.tmp",
        ]
    )
    func names(name: String) throws {
        // A file whose description fits, in the place that a careless reader of the name would come to.
        let target = directory.url.appendingPathComponent("other")
        #expect(rename(url.path, target.path) == 0)
        if !name.contains("/"), !name.contains("\u{0}"), name.count > 2 {
            _ = rename(target.path, directory.url.appendingPathComponent(name).path)
        }
        var forged = partial
        forged.name = name
        #expect(!opens(forged))
        forged.remove(in: directory.url)
        #expect(directory.content.count == 1)
    }

    @Test("Removing takes away the file described, and no other")
    func removal() throws {
        var other = partial
        other.length += 1
        other.remove(in: directory.url)
        #expect(directory.content == [partial.name])
        partial.remove(in: directory.url)
        #expect(directory.content == [])
        partial.remove(in: directory.url)
    }

    // MARK: - Other directories

    @Test("A partial file is moved to the name that it is to have, which can be repeated")
    func moving() throws {
        let other = try TemporaryDirectory()
        let name = TemporaryName.kept.make()
        let place = partial.place(named: name, in: other.url)
        #expect(!opens(place, in: other.url))
        let moved = try #require(partial.moved(to: other.url, as: name))
        #expect(directory.content == [] && other.content == [name])
        #expect(moved.name == name && moved.length == 7 && moved.isGrowing == nil)
        #expect(opens(moved, in: other.url) && opens(place, in: other.url))
        #expect(partial.moved(to: other.url, as: name) == moved)
        #expect(partial.moved(to: other.url, as: TemporaryName.kept.make()) == nil)
        for forged in ["../\(name)", "name", ""] { #expect(moved.moved(to: directory.url, as: forged) == nil) }
        #expect(other.content == [name])
    }

    @Test("A partial file that is being written is copied instead of moved")
    func movingGrowing() throws {
        let other = try TemporaryDirectory()
        let download = try DownloadFile(in: directory.url)
        try DownloadFileTests.write("growing", to: download)
        let growing = try #require(download.describe())
        let moved = try #require(growing.moved(to: other.url, as: TemporaryName.kept.make()))
        #expect(other.content == [moved.name])
        #expect(try String(contentsOf: other.url.appendingPathComponent(moved.name), encoding: .utf8) == "growing")
        growing.remove(in: directory.url)
        try DownloadFileTests.write(" on", to: download)
        let finished = try download.finish()
        #expect(try String(contentsOf: finished.url, encoding: .utf8) == "growing on")
    }

    @Test("A partial file for another file system is copied instead of moved")
    func movingElsewhere() throws {
        let path = "/dev/shm/CurlNetworkingTests-\(UUID().uuidString)"
        let other = URL(fileURLWithPath: path, isDirectory: true)
        try FileManager.default.createDirectory(at: other, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: other) }
        let moved = try #require(partial.moved(to: other, as: TemporaryName.kept.make()))
        #expect(opens(moved, in: other) && opens(partial, in: directory.url))
        #expect(moved.length == partial.length)
    }

    // MARK: - Copies

    @Test("A copy can be appended to, and the original stays good to resume from")
    func copying() throws {
        let copy = try #require(try DownloadFile(copying: partial, in: directory.url))
        #expect(copy.length == 7)
        try DownloadFileTests.write(" and whole", to: copy)
        #expect(opens())
        let finished = try copy.finish()
        #expect(try String(contentsOf: finished.url, encoding: .utf8) == "partial and whole")
        #expect(finished.url != url)
        #expect(DownloadFileTests.mode(of: finished.url) == S_IFREG | 0o600)
    }

    @Test("A file that is gone or changed isn't copied, and the attempt leaves nothing behind")
    func copyingNothing() throws {
        #expect(chmod(url.path, 0o640) == 0)
        #expect(try DownloadFile(copying: partial, in: directory.url) == nil)
        #expect(directory.content == [partial.name])
        try FileManager.default.removeItem(at: url)
        #expect(try DownloadFile(copying: partial, in: directory.url) == nil)
        #expect(directory.content == [])
    }

    @Test("A large file is copied whole")
    func copyingMuch() throws {
        let file = try DownloadFile(in: directory.url)
        let content = Data((0..<3_000_001).map { UInt8(truncatingIfNeeded: $0 / 11) })
        try content.withUnsafeBytes { bytes in try Result { () throws(URLError) in try file.write(bytes) }.get() }
        let large = try #require(file.keep())
        let copy = try #require(try DownloadFile(copying: large, in: directory.url))
        #expect(copy.length == 3_000_001)
        let finished = try copy.finish()
        #expect(try Data(contentsOf: finished.url) == content)
        finished.removeIfStillThere()
    }
}
