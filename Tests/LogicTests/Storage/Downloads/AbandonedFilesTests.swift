import Foundation
import Glibc
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("Files that a process has left behind")
struct AbandonedFilesTests {
    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func url(_ name: String) -> URL { directory.url.appendingPathComponent(name) }

    /// As a process leaves it that was killed: with the name and mode of a file in progress, and no lock.
    @discardableResult
    private func abandon(_ name: String = TemporaryName.active.make(), mode: mode_t = 0o600) throws -> String {
        try Data("part".utf8).write(to: url(name))
        #expect(chmod(url(name).path, mode) == 0)
        return name
    }

    private func remove() { AbandonedFiles.remove(from: directory.url) }

    @Test("A file in progress that nobody has locked is removed")
    func abandoned() throws {
        for _ in 0..<50 { try abandon() }
        remove()
        #expect(directory.content == [])
    }

    @Test("Files that are worked on stay, and so do those that are kept, complete or handed over")
    func owned() throws {
        let active = try DownloadFile(in: directory.url)
        let partial = try DownloadFile(in: directory.url)
        let kept = try #require(partial.keep())
        let complete = try DownloadFile(in: directory.url).finish()
        let handedOver = try DownloadFile(in: directory.url).finish().handOver()
        remove()
        #expect(
            Set(directory.content) == [
                active.url.lastPathComponent, kept.name, complete.url.lastPathComponent, handedOver.lastPathComponent,
            ]
        )
        #expect(TemporaryName.kept.matches(kept.name) && TemporaryName.kept.matches(handedOver.lastPathComponent))
        active.remove()
        complete.removeIfStillThere()
    }

    @Test(
        "A complete file is nobody's once the process has let go of it without handing it over",
        .timeLimit(.minutes(1))
    )
    func letGo() async throws {
        _ = try DownloadFile(in: directory.url).finish()
        // The directory's first download looks for such files as well, and may have locked it just now.
        try await eventually {
            remove()
            return directory.content == []
        }
    }

    @Test("A name that a killed process has made for an agent's file is removed, and the agent's stays")
    func linked() throws {
        let agent = try TemporaryDirectory()
        let file = try agent.file("complete", Data("whole".utf8))
        #expect(chmod(file.path, 0o600) == 0)
        #expect(link(file.path, url(TemporaryName.active.make()).path) == 0)
        remove()
        #expect(directory.content == [])
        #expect(agent.content == ["complete"])
    }

    @Test("A name that a process has just made for an agent's file stays, and so does a copy of a locked one")
    func linking() throws {
        let agent = try TemporaryDirectory()
        let file = try agent.file("complete", Data("whole".utf8))
        #expect(chmod(file.path, 0o600) == 0)
        let linked = try DownloadedFile(linking: file, in: directory.url)
        let copied = try DownloadedFile(linking: file, in: directory.url)
        remove()
        for handedOver in [linked, copied] {
            #expect(try Data(contentsOf: handedOver.url) == Data("whole".utf8))
            handedOver.removeIfStillThere()
        }
        #expect(directory.content == [])
        #expect(agent.content == ["complete"])
    }

    @Test("A process that is handed an agent's file looks for such names, too", .timeLimit(.minutes(1)))
    func lookingWhileLinking() async throws {
        let agent = try TemporaryDirectory()
        let file = try agent.file("complete", Data("whole".utf8))
        #expect(chmod(file.path, 0o600) == 0)
        try abandon()
        try DownloadedFile(linking: file, in: directory.url).removeIfStillThere()
        while directory.content != [] { await Task.yield() }
    }

    @Test("A file that its owner has moved is not looked for")
    func moved() throws {
        let complete = try DownloadFile(in: directory.url).finish()
        try FileManager.default.moveItem(at: complete.url, to: url("mine"))
        #expect(try complete.handOver() == complete.url)
        remove()
        #expect(directory.content == ["mine"])
    }

    @Test("What isn't ours by name stays")
    func names() throws {
        let active = TemporaryName.active.make()
        let names = [
            "other", "CurlNetworkingTransfer_.tmp",
            "CurlNetworkingTransfer_" + String(repeating: "g", count: 32) + ".tmp",
            active + ".tmp", "x" + active, active.uppercased(), TemporaryName.kept.make(),
        ]
        for name in names { try abandon(name) }
        remove()
        #expect(directory.content == names.sorted())
    }

    @Test(
        "So does what has our name but another kind of mode",
        arguments: [0o640, 0o604, 0o700, 0o400, 0o4600] as [mode_t]
    )
    func modes(mode: mode_t) throws {
        let name = try abandon(mode: mode)
        remove()
        #expect(directory.content == [name])
    }

    @Test("Symbolic links, pipes and directories of such a name are neither followed, opened nor removed")
    func hostile() throws {
        let secret = try TemporaryDirectory()
        let target = try secret.file("secret", Data("secret".utf8))
        #expect(chmod(target.path, 0o600) == 0)
        let names = (0..<3).map { _ in TemporaryName.active.make() }
        #expect(symlink(target.path, url(names[0]).path) == 0)
        #expect(mkfifo(url(names[1]).path, 0o600) == 0)
        #expect(mkdir(url(names[2]).path, 0o600) == 0)
        remove()
        #expect(directory.content == names.sorted())
        #expect(try Data(contentsOf: target) == Data("secret".utf8))
    }

    @Test("Another user's file stays", .enabled(if: geteuid() == 0, "only root can give files away"))
    func otherUser() throws {
        let name = try abandon()
        #expect(chown(url(name).path, 65534, gid_t.max) == 0)
        remove()
        #expect(directory.content == [name])
    }

    @Test("A missing directory is left missing, and one that may not be read is left as it is")
    func unreadable() throws {
        AbandonedFiles.remove(from: url("nothing"))
        #expect(directory.content == [])
        let name = try abandon()
        #expect(chmod(directory.url.path, 0o300) == 0)
        defer { chmod(directory.url.path, 0o700) }
        try asOrdinaryUser { AbandonedFiles.remove(from: directory.url) }
        #expect(chmod(directory.url.path, 0o700) == 0)
        #expect(directory.content == [name])
    }

    @Test("Files come and go while others look for abandoned ones: none is lost")
    func together() async throws {
        let directory = directory
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask { for _ in 0..<200 { AbandonedFiles.remove(from: directory.url) } }
                group.addTask {
                    for number in 0..<200 {
                        guard let file = try? DownloadFile(in: directory.url),
                            (try? DownloadFileTests.write("text", to: file)) != nil
                        else { Issue.record("no file"); return }
                        if number.isMultiple(of: 2) {
                            guard let partial = file.keep() else { Issue.record("not kept"); return }
                            let descriptor = partial.open(in: directory.url)
                            #expect(descriptor != nil)
                            descriptor.map { _ = close($0) }
                            partial.remove(in: directory.url)
                        } else {
                            guard let complete = try? file.finish() else { Issue.record("not finished"); return }
                            complete.removeIfStillThere()
                        }
                    }
                }
            }
        }
        #expect(directory.content == [])
    }
}
