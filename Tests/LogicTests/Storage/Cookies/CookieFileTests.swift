import Foundation
import Glibc
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("The file of a cookie storage")
struct CookieFileTests {
    /// On a file system that keeps every date, if there is one.
    private static func directory() throws -> TemporaryDirectory {
        let memory = URL(fileURLWithPath: "/dev/shm", isDirectory: true)
        return try access(memory.path, W_OK) == 0 ? TemporaryDirectory(in: memory) : TemporaryDirectory()
    }

    @Test(
        "A copy of the file that a killed program left may have any date, and is removed if that is an hour ago",
        arguments: [
            (Int.min, true), (Int.min + 1, true), (-1, true), (0, true), (time(nil) - 7200, true),
            (time(nil) - 600, false), (time(nil) + 7200, false), (Int.max, false),
        ]
    )
    func dates(seconds: Int, isRemoved: Bool) throws {
        let directory = try Self.directory()
        let name = ".dat.nosync\(UUID().uuidString)"
        let copy = try directory.file(name, Data("cookies".utf8))
        let times = [timespec(tv_sec: seconds, tv_nsec: 0), timespec(tv_sec: seconds, tv_nsec: 0)]
        try #require(utimensat(AT_FDCWD, copy.path, times, 0) == 0)
        CookieFile(path: directory.url.appendingPathComponent(".cookies").path).prepare()
        #expect(directory.content == (isRemoved ? [] : [name]))
    }
}
