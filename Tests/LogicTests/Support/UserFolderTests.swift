import CurlTransport
import Foundation
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("The user's folders")
struct UserFolderTests {
    @Test("Variables with absolute paths name them, and without HOME they are in the user's own folder")
    func folders() {
        #expect(UserFolder.cache.url(["XDG_CACHE_HOME": "/c", "HOME": "/h"]).path == "/c")
        #expect(UserFolder.cache.url(["XDG_CACHE_HOME": "c", "HOME": "/h"]).path == "/h/.cache")
        #expect(UserFolder.state.url(["HOME": "/h"]).path == "/h/.local/state")
        #expect(UserFolder.cache.url([:]).path == NSHomeDirectory() + "/.cache")
    }

    @Test("An empty TMPDIR doesn't put temporary files into the root")
    func temporary() {
        #expect(UserFolder.temporary(["TMPDIR": ""]).path == "/tmp")
        #expect(UserFolder.temporary([:]) == FileManager.default.temporaryDirectory)
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
