import CurlTransport
import Foundation
import Glibc
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("Replacing a file as a whole")
struct AtomicFileTests {
    private let directory: TemporaryDirectory
    private var path: String { path("file") }

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func path(_ name: String) -> String { directory.url.appendingPathComponent(name, isDirectory: false).path }

    private func content(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

    private func write(
        _ text: String,
        _ writers: AtomicFile.Writers,
        _ sync: AtomicFile.Sync,
        during: () throws(SystemError) -> Void = {}
    ) throws(SystemError) {
        try AtomicFile.write(path, writers: writers, sync: sync) { descriptor throws(SystemError) in
            try Array(text.utf8).withUnsafeBytes { DescriptorBytes.write($0, to: descriptor) }.get()
            try during()
        }
    }

    private static let writers: [AtomicFile.Writers] = [.one, .many, .manyWithLocks]
    /// Those with which the old file stays on failure.
    private static let keepingSyncs: [AtomicFile.Sync] = [.never, .beforeRename]
    private static let syncs = keepingSyncs + [.afterRename]

    @Test("A file is written for this user alone, whoever could read the old one", arguments: writers, syncs)
    func written(writers: AtomicFile.Writers, sync: AtomicFile.Sync) throws {
        _ = try directory.file(Data("a longer old content".utf8))
        #expect(chmod(path, 0o666) == 0)
        try write("new", writers, sync)
        #expect(try content(path) == "new")
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
        #expect(directory.content == ["file"])
    }

    @Test("Until the new content is complete, readers see the old one", arguments: writers, keepingSyncs)
    func replaced(writers: AtomicFile.Writers, sync: AtomicFile.Sync) throws {
        _ = try directory.file(Data("old".utf8))
        var seen: String?
        try write("new", writers, sync) { seen = try? content(path) }
        #expect(seen == "old")
    }

    @Test("If writing fails, only the old file stays", arguments: writers, keepingSyncs)
    func failed(writers: AtomicFile.Writers, sync: AtomicFile.Sync) throws {
        _ = try directory.file(Data("old".utf8))
        let error = #expect(throws: SystemError.self) {
            try write("new", writers, sync) { () throws(SystemError) in throw SystemError(code: ENOSPC) }
        }
        #expect(error == SystemError(code: ENOSPC))
        #expect(try content(path) == "old")
        #expect(directory.content == ["file"])
    }

    @Test("If writing a new file fails that is synced with its name, no file stays", arguments: writers)
    func failedWithName(writers: AtomicFile.Writers) throws {
        #expect(throws: SystemError(code: EIO)) {
            try write("new", writers, .afterRename) { () throws(SystemError) in throw SystemError(code: EIO) }
        }
        #expect(directory.content == [])
    }

    @Test("A file that can't be renamed into place leaves nothing behind", arguments: writers, syncs)
    func unrenamable(writers: AtomicFile.Writers, sync: AtomicFile.Sync) throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        #expect(throws: SystemError(code: EISDIR)) { try write("new", writers, sync) }
        #expect(directory.content == ["file"])
    }

    @Test("In a directory that isn't there nothing is composed", arguments: writers)
    func noDirectory(writers: AtomicFile.Writers) {
        #expect(throws: SystemError(code: ENOENT)) {
            try AtomicFile.write(path("nowhere/file"), writers: writers, sync: .never) { _ in
                Issue.record("there is no temporary file")
            }
        }
    }

    @Test("A link in the file's place is replaced, and what it points to stays", arguments: writers, syncs)
    func link(writers: AtomicFile.Writers, sync: AtomicFile.Sync) throws {
        let target = try directory.file("target", Data("theirs".utf8)).path
        #expect(symlink(target, path) == 0)
        try write("new", writers, sync)
        #expect(try content(target) == "theirs")
        var status = stat()
        #expect(lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG)
    }

    @Test("A link in the temporary file's place isn't written through")
    func temporaryLink() throws {
        let target = try directory.file("target", Data("theirs".utf8)).path
        #expect(symlink(target, path + AtomicFile.Writers.one.temporarySuffix) == 0)
        #expect(throws: SystemError(code: ELOOP)) { try write("new", .one, .never) }
        #expect(try content(target) == "theirs")
    }

    @Test("The only writer overwrites what it left when it was killed")
    func leftover() throws {
        _ = try directory.file("file" + AtomicFile.Writers.one.temporarySuffix, Data("a longer remainder".utf8))
        try write("new", .one, .beforeRename)
        #expect(try content(path) == "new")
        #expect(directory.content == ["file"])
    }

    @Test("One of many writers keeps its temporary file while it is writing, and another removes one that was left")
    func abandoned() throws {
        let left = "file.\(UUID().uuidString)\(AtomicFile.Writers.many.temporarySuffix)"
        _ = try directory.file(left, Data())
        var names: [String] = []
        try write("new", .many, .never) {
            AtomicFile.removeAbandoned(besides: path)
            names = directory.content
        }
        #expect(names.count == 1 && names[0] != left && names[0].hasPrefix("file."))
        #expect(AtomicFile.target(ofTemporary: names[0]) == "file")
        #expect(directory.content == ["file"])
    }

    @Test("Files of other names aren't taken for temporary ones")
    func others() throws {
        let id = UUID().uuidString
        let names = ["file.tmp", "file.x.tmp", "file.\(id)", "file.\(id).new", "file\(id).tmp", "other.\(id).tmp"]
        for name in names { _ = try directory.file(name, Data()) }
        AtomicFile.removeAbandoned(besides: path)
        #expect(directory.content == names.sorted())
    }
}
