import Foundation
import Glibc
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("A download's file")
struct DownloadFileTests {
    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    static func write(_ text: String, to file: DownloadFile) throws {
        try Array(text.utf8).withUnsafeBytes { bytes in
            try Result { () throws(URLError) in try file.write(bytes) }.get()
        }
    }

    static func code(_ body: () throws -> Void) -> URLError.Code? {
        do {
            try body()
            return nil
        } catch {
            return (error as? URLError)?.code
        }
    }

    static func mode(of url: URL) -> mode_t {
        var status = stat()
        return lstat(url.path, &status) == 0 ? status.st_mode : 0
    }

    /// The descriptor behind an open file of this process.
    static func descriptor(of url: URL) throws -> Int32 {
        let names = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        let name = names.first { name in
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + name)) == url.path
        }
        return try #require(name.flatMap { Int32($0) })
    }

    @Test("A download's file is a private file in the directory, under a random name")
    func creation() throws {
        var names: Set<String> = []
        for _ in 0..<100 {
            let file = try DownloadFile(in: directory.url)
            #expect(Self.mode(of: file.url) == S_IFREG | 0o600)
            let name = file.url.lastPathComponent
            #expect(name.wholeMatch(of: /CurlNetworkingTransfer_[0-9a-f]{32}\.tmp/) != nil)
            names.insert(name)
            file.remove()
        }
        #expect(names.count == 100)
        #expect(directory.content == [])
    }

    @Test("The process's mask can't make it less private")
    func mask() throws {
        // Never wider than 0600; the mask could only take away.
        let file = try DownloadFile(in: directory.url)
        defer { file.remove() }
        #expect(Self.mode(of: file.url) & 0o177 == 0)
    }

    @Test("A finished file has what was written")
    func finishing() throws {
        let file = try DownloadFile(in: directory.url)
        try Self.write("Hello, ", to: file)
        try Self.write("", to: file)
        try Self.write("world", to: file)
        #expect(file.length == 12)
        let finished = try file.finish()
        #expect(finished.url == file.url)
        #expect(try String(contentsOf: finished.url, encoding: .utf8) == "Hello, world")
        finished.removeIfStillThere()
        #expect(directory.content == [])
    }

    @Test("A removed file is gone")
    func removal() throws {
        let file = try DownloadFile(in: directory.url)
        try Self.write("abc", to: file)
        file.remove()
        #expect(directory.content == [])
    }

    @Test("A file can't be created in a directory that isn't there")
    func missingDirectory() {
        #expect(
            Self.code { _ = try DownloadFile(in: directory.url.appendingPathComponent("x")) } == .cannotCreateFile
        )
    }

    @Test("A full disk fails the write, with the system's reason, and leaves no litter")
    func fullDisk() throws {
        let file = try DownloadFile(in: directory.url)
        let full = open("/dev/full", O_WRONLY | O_CLOEXEC)
        try #require(full >= 0)
        defer { close(full) }
        let descriptor = try Self.descriptor(of: file.url)
        let saved = dup(descriptor)
        defer { close(saved) }
        #expect(dup2(full, descriptor) == descriptor)
        do {
            try Self.write("abc", to: file)
            Issue.record("it was written")
        } catch let error as URLError {
            #expect(error.code == .cannotWriteToFile)
            #expect((error.userInfo[NSUnderlyingErrorKey] as? NSError)?.code == Int(ENOSPC))
        }
        #expect(file.length == 0)
        dup2(saved, descriptor)
        file.remove()
        #expect(directory.content == [])
    }

    @Test("A file that was taken away, or replaced, can't be finished or kept, and what is there now stays")
    func disappeared() throws {
        for replaces in [false, true] {
            for keeps in [false, true] {
                let file = try DownloadFile(in: directory.url)
                try Self.write("abc", to: file)
                try FileManager.default.removeItem(at: file.url)
                if replaces { try Data("theirs".utf8).write(to: file.url) }
                if keeps {
                    #expect(file.keep() == nil)
                } else {
                    #expect(Self.code { _ = try file.finish() } == .cannotOpenFile)
                }
                #expect(directory.content.count == (replaces ? 1 : 0))
                if replaces {
                    #expect(try Data(contentsOf: file.url) == Data("theirs".utf8))
                    try FileManager.default.removeItem(at: file.url)
                }
            }
        }
    }

    @Test("A finished file is removed unless its owner has moved it or put something in its place")
    func removalAfterDelivery() throws {
        let finished = try DownloadFile(in: directory.url).finish()
        let elsewhere = directory.url.appendingPathComponent("mine")
        try FileManager.default.moveItem(at: finished.url, to: elsewhere)
        finished.removeIfStillThere()
        try Data("theirs".utf8).write(to: finished.url)
        finished.removeIfStillThere()
        #expect(directory.content == [finished.url.lastPathComponent, "mine"])
    }
}
