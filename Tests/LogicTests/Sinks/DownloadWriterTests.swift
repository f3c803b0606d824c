import CurlNetworkingLoopbackServer
import Foundation
import Glibc
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("The writer of a download's file", .timeLimit(.minutes(1)))
struct DownloadWriterTests {
    /// A writer whose only thread can be held up.
    private final class Rig: Sendable {
        let directory: TemporaryDirectory
        let errors = Watched<[URLError]>([])
        /// How often there was progress.
        let progress = Watched(0)
        let writer: DownloadWriter
        private let threads = WorkThreads(limit: 1)

        init(in folder: String? = nil) throws {
            directory = try TemporaryDirectory()
            let (errors, progress) = (errors, progress)
            writer = DownloadWriter(
                in: folder.map { URL(fileURLWithPath: $0, isDirectory: true) } ?? directory.url,
                on: threads,
                failed: { error in errors.update { $0.append(error) } },
                progressed: { progress.update { $0 += 1 } }
            )
        }

        func hold() -> Gate { threads.hold() }

        /// Returns when the thread has done everything and left the writer.
        func rest() async { await threads.rest() }

        /// Whether too much is waiting; nil if nothing is.
        @discardableResult
        func write(_ data: Data) throws -> Bool? {
            let writing = try data.withUnsafeBytes { bytes in
                Result { () throws(URLError) in try writer.write(bytes) }
            }.get()
            return if case .waiting(let isTooMuch) = writing { isTooMuch } else { nil }
        }

        func finish() async throws -> DownloadedFile {
            try await result { writer.finish($0) }.get()
        }

        func keep() async throws -> PartialFile? {
            try await result { writer.keep($0) }
        }

        func describe() async throws -> PartialFile? {
            try await result { writer.describe($0) }
        }

        /// What `call` passes to its completion. By way of a lock: the thread sanitizer doesn't see that a continuation which is resumed
        /// early has been waited for.
        private func result<Value: Sendable>(
            of call: (@escaping @Sendable (Value) -> Void) -> Void
        ) async throws -> Value {
            let values = Watched<[Value]>([])
            call { value in values.update { $0.append(value) } }
            try await values.wait { !$0.isEmpty }
            return values.value[0]
        }

        func remove() async {
            await withCheckedContinuation { continuation in writer.remove { continuation.resume() } }
        }

        /// The bytes in the only file.
        var content: Data? {
            guard let name = directory.content.first, directory.content.count == 1 else { return nil }
            return try? Data(contentsOf: directory.url.appendingPathComponent(name))
        }
    }

    private static let mark = 1 << 20

    @Test("Bytes that come before the file is there are in it, in order")
    func beforeTheFile() async throws {
        let rig = try Rig()
        let gate = rig.hold()
        rig.writer.makeFile()
        #expect(try rig.write(Data("ab".utf8)) == false)
        #expect(try rig.write(Data("cd".utf8)) == false)
        #expect(rig.directory.content.isEmpty)
        gate.open()
        let file = try await rig.finish()
        #expect(try Data(contentsOf: file.url) == Data("abcd".utf8))
        await rig.remove()
    }

    @Test("More than a mebibyte is too much to wait, and the writer says when it has caught up")
    func marks() async throws {
        let rig = try Rig()
        let content = GeneratedBody.bytes(seed: 1, length: Self.mark + 3)
        let gate = rig.hold()
        rig.writer.makeFile()
        #expect(try rig.write(content.prefix(Self.mark)) == false)
        #expect(try rig.write(content.dropFirst(Self.mark).prefix(1)) == true)
        #expect(try rig.write(content.suffix(2)) == true)
        #expect(rig.progress.value == 0 && rig.writer.takeProgress().written == 0)
        gate.open()
        _ = try await rig.describe()
        #expect(rig.content == content && rig.progress.value == 1, "it is told once until it is asked")
        let progress = rig.writer.takeProgress()
        #expect(progress.written == content.count && progress.hasCaughtUp)
        #expect(!rig.writer.takeProgress().hasCaughtUp)
        await rig.remove()
        #expect(rig.directory.content.isEmpty)
    }

    @Test("Bytes for a disk of this machine are written at once if nothing else is to be done")
    func atOnce() async throws {
        let rig = try Rig()
        rig.writer.makeFile()
        await rig.rest()
        #expect(try rig.write(Data("a".utf8)) == nil)
        #expect(rig.content == Data("a".utf8))
        #expect(try await rig.describe()?.length == 1)
        await rig.remove()
    }

    @Test("Whatever is held up when, the file has the bytes in their order", arguments: 0..<30 as Range<UInt64>)
    func random(seed: UInt64) async throws {
        var generator = SeededGenerator(seed: seed)
        let rig = try Rig()
        var expected = Data()
        var gate: Gate?
        rig.writer.makeFile()
        for step in 0..<60 {
            switch Int.random(in: 0..<10, using: &generator) {
            case 0: if gate == nil { gate = rig.hold() }
            case 1, 2:
                gate.take()?.open()
                if Bool.random(using: &generator) { #expect(try await rig.describe()?.length == Int64(expected.count)) }
            case 3 where step % 3 == 0:
                rig.writer.startOver()
                expected = Data()
            default:
                let length = Int.random(in: 0..<40_000, using: &generator)
                let piece = GeneratedBody.bytes(seed: seed + UInt64(step), length: length)
                expected += piece
                try rig.write(piece)
            }
        }
        gate?.open()
        let file = try await rig.finish()
        #expect(try Data(contentsOf: file.url) == expected)
        #expect(rig.directory.content.count == 1 && rig.errors.value.isEmpty)
        await rig.remove()
        #expect(rig.directory.content.isEmpty)
    }

    @Test("A file that can't be made is reported once, and is the result")
    func missingDirectory() async throws {
        let rig = try Rig(in: "/nonexistent")
        let gate = rig.hold()
        rig.writer.makeFile()
        try rig.write(Data("abc".utf8))
        rig.writer.startOver()
        gate.open()
        let error = await #expect(throws: URLError.self) { try await rig.finish() }
        #expect(error?.code == .cannotCreateFile)
        #expect(rig.errors.value.map(\.code) == [.cannotCreateFile])
        #expect(try await rig.keep() == nil)
        await rig.remove()
    }

    @Test("A file that is kept stays, and can be resumed from")
    func kept() async throws {
        let rig = try Rig()
        rig.writer.makeFile()
        try rig.write(Data("abc".utf8))
        let partial = try #require(try await rig.keep())
        #expect(partial.length == 3)
        await rig.remove()
        let copy = try #require(try DownloadFile(copying: partial, in: rig.directory.url))
        rig.writer.adopt(copy)
        try rig.write(Data("def".utf8))
        let file = try await rig.finish()
        #expect(try Data(contentsOf: file.url) == Data("abcdef".utf8))
        await rig.remove()
        #expect(rig.directory.content == [partial.name])
    }

    @Test("A file that was removed is an error at the end")
    func vanished() async throws {
        let rig = try Rig()
        rig.writer.makeFile()
        try rig.write(Data("abc".utf8))
        let partial = try #require(try await rig.describe())
        try FileManager.default.removeItem(at: rig.directory.url.appendingPathComponent(partial.name))
        let error = await #expect(throws: URLError.self) { try await rig.finish() }
        #expect(error?.code == .cannotOpenFile)
        await rig.remove()
    }
}
