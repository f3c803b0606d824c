import CurlTransport
import Foundation
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("The user's folders")
struct UserFolderTests {
    @Test("Variables with absolute paths name them, and without HOME they are in the user's own folder")
    func folders() {
        func cache(_ environment: [String: String]) -> String { UserFolder.cache.url { environment[$0] }.path }
        #expect(cache(["XDG_CACHE_HOME": "/c", "HOME": "/h"]) == "/c")
        #expect(cache(["XDG_CACHE_HOME": "c", "HOME": "/h"]) == "/h/.cache")
        #expect(UserFolder.state.url { ["HOME": "/h"][$0] }.path == "/h/.local/state")
    }

    @Test("Without variables that can be trusted, they are where the password database has the home")
    func withoutVariables() throws {
        let entry = try #require(getpwuid(geteuid()))
        let home = String(cString: entry.pointee.pw_dir)
        #expect(UserFolder.cache.url { _ in nil }.path == home + "/.cache")
        #expect(UserFolder.state.url { _ in nil }.path == home + "/.local/state")
        #expect(UserFolder.temporary { _ in nil }.path == "/tmp")
    }

    @Test("TMPDIR names the folder for temporary files, and an empty one doesn't put them into the root")
    func temporary() {
        #expect(UserFolder.temporary { ["TMPDIR": "/t"][$0] } == URL(fileURLWithPath: "/t/", isDirectory: true))
        #expect(UserFolder.temporary { ["TMPDIR": ""][$0] }.path == "/tmp")
    }

    @Test("The folders follow the process's environment")
    func environment() {
        let environment = ProcessInfo.processInfo.environment
        #expect(UserFolder.cache.url() == UserFolder.cache.url { environment[$0] })
        #expect(UserFolder.temporary() == UserFolder.temporary { environment[$0] })
    }

    @Test("A folder is made private, but no link's target, and nothing else")
    func makePrivate() throws {
        let directory = try TemporaryDirectory()
        let folder = directory.url.appendingPathComponent("folder").path
        let link = directory.url.appendingPathComponent("link").path
        #expect(mkdir(folder, 0o755) == 0 && symlink(folder, link) == 0)
        func mode() -> mode_t {
            var status = stat()
            return stat(folder, &status) == 0 ? status.st_mode & 0o777 : 0
        }
        #expect(throws: SystemError.self) { try FileManager.default.makeFolderPrivate(atPath: link) }
        #expect(mode() == 0o755)
        #expect(try FileManager.default.makeFolderPrivate(atPath: folder))
        #expect(mode() == 0o700)
        let file = try directory.file(Data()).path
        #expect(throws: SystemError.self) { try FileManager.default.makeFolderPrivate(atPath: file) }
    }
}
