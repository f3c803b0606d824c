import CurlNetworking
import Foundation
import Glibc
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite(
    "A partial file that isn't what it was is left alone, and the download starts from zero",
    .timeLimit(.minutes(1))
)
struct ResumePartialFileTests {
    /// What happened to the partial file. `foreign` is an unrelated file, private and just as long.
    struct Change: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let make: @Sendable (_ partial: URL, _ foreign: URL) throws -> Void

        init(_ description: String, _ make: @escaping @Sendable (URL, URL) throws -> Void) {
            testDescription = description
            self.make = make
        }
    }

    static let changes = [
        Change("it is gone") { partial, _ in try FileManager.default.removeItem(at: partial) },
        Change("a bit of it has flipped, and its date was set back") { partial, _ in
            var times = try Self.times(of: partial)
            let file = try FileHandle(forUpdating: partial)
            try file.seek(toOffset: 70_000)
            let byte = try #require(try file.read(upToCount: 1)?.first)
            try file.seek(toOffset: 70_000)
            try file.write(contentsOf: Data([byte ^ 1]))
            try file.close()
            #expect(utimensat(AT_FDCWD, partial.path, &times, 0) == 0)
        },
        Change("it is shorter") { partial, _ in #expect(truncate(partial.path, 149_999) == 0) },
        Change("it is empty") { partial, _ in #expect(truncate(partial.path, 0) == 0) },
        Change("it is longer") { partial, _ in #expect(truncate(partial.path, 150_001) == 0) },
        Change("it was copied over") { partial, foreign in
            try FileManager.default.removeItem(at: partial)
            try FileManager.default.copyItem(at: foreign, to: partial)
        },
        Change("another file was moved to its place") { partial, foreign in
            #expect(rename(foreign.path, partial.path) == 0)
            try FileManager.default.copyItem(at: partial, to: foreign)
        },
        Change("a symbolic link is in its place") { partial, foreign in
            try FileManager.default.removeItem(at: partial)
            try FileManager.default.createSymbolicLink(at: partial, withDestinationURL: foreign)
        },
        Change("a symbolic link leads to it") { partial, _ in
            let elsewhere = partial.deletingLastPathComponent().appendingPathComponent("elsewhere")
            #expect(rename(partial.path, elsewhere.path) == 0)
            try FileManager.default.createSymbolicLink(at: partial, withDestinationURL: elsewhere)
        },
        Change("a hard link to another file is in its place") { partial, foreign in
            try FileManager.default.removeItem(at: partial)
            #expect(link(foreign.path, partial.path) == 0)
        },
        Change("it has a second name") { partial, _ in
            #expect(link(partial.path, partial.path + ".second") == 0)
        },
        Change("a directory is in its place") { partial, _ in
            try FileManager.default.removeItem(at: partial)
            try FileManager.default.createDirectory(at: partial, withIntermediateDirectories: false)
        },
        Change("a pipe is in its place") { partial, _ in
            try FileManager.default.removeItem(at: partial)
            #expect(mkfifo(partial.path, 0o600) == 0)
        },
        Change("others may read it now") { partial, _ in #expect(chmod(partial.path, 0o644) == 0) },
    ]

    private static func times(of file: URL) throws -> [timespec] {
        var status = stat()
        try #require(stat(file.path, &status) == 0)
        return [status.st_atim, status.st_mtim]
    }

    @Test(
        "A download whose partial file isn't what it was starts from zero, and leaves the file alone",
        arguments: changes
    )
    func changed(_ change: Change) async throws {
        let paused = try await PausedDownload(from: ResumeOrigin())
        let partial = try paused.partialFile
        let foreign = try paused.directory.file("foreign", length: ResumeOrigin.heldAt, seed: 9)
        #expect(chmod(foreign.path, 0o600) == 0)
        try change.make(partial, foreign)
        let before = paused.directory.content

        let resumed = try await paused.resume()
        #expect(resumed.error == nil)
        #expect(resumed.body == ResumeOrigin.bytes)
        #expect(!resumed.hasContinued)
        #expect(paused.origin.server.requests[1].header("Range") == nil)
        #expect(paused.origin.server.requests[1].header("If-Range") == nil)
        #expect(try Data(contentsOf: foreign) == GeneratedBody.bytes(seed: 9, length: Int(ResumeOrigin.heldAt)))
        // What isn't ours any more stays.
        #expect(paused.directory.content == before)
    }

    @Test("A partial file in another directory than the session's is not looked for")
    func otherDirectory() async throws {
        let paused = try await PausedDownload(from: ResumeOrigin())
        let other = try TemporaryDirectory()
        let resumed = try await ResumedDownload(paused.resumeData, in: other)
        #expect(resumed.body == ResumeOrigin.bytes)
        #expect(!resumed.hasContinued)
        #expect(paused.directory.content.count == 1)
        #expect(other.content == [])
    }

    @Test("A partial file that changes while the download is being resumed is never half used")
    func changedMeanwhile() async throws {
        for _ in 0..<20 {
            let paused = try await PausedDownload(from: ResumeOrigin())
            let partial = try paused.partialFile
            let end = Gate()
            async let changing: Void = hammer(threads: 1, until: end) { _ in
                let descriptor = open(partial.path, O_WRONLY)
                guard descriptor >= 0 else { return }
                _ = pwrite(descriptor, "changed", 7, 149_000)
                close(descriptor)
            }
            let resumed = try await paused.resume()
            end.open()
            await changing
            #expect(resumed.error == nil)
            #expect(resumed.body == ResumeOrigin.bytes)
        }
    }
}
