import Foundation
import Glibc
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("Bodies from memory and files")
struct RequestBodyTests {
    static func read(_ body: any RequestBody, _ size: Int) throws -> Data? {
        var data = Data(count: size)
        let result = try data.withUnsafeMutableBytes { buffer in
            try Result { () throws(URLError) in try body.read(into: buffer) }.get()
        }
        guard case .bytes(let count) = result else { return nil }
        return data.prefix(count)
    }

    static func readAll(_ body: any RequestBody, by size: Int) throws -> Data {
        var all = Data()
        while let piece = try read(body, size), !piece.isEmpty { all += piece }
        return all
    }

    static func code(_ body: () throws -> Void) -> URLError.Code? {
        do {
            try body()
            return nil
        } catch {
            return (error as? URLError)?.code
        }
    }

    // MARK: - Memory

    @Test("A body in memory is read in pieces of any size", arguments: [1, 3, 7, 8, 100])
    func memory(size: Int) throws {
        let data = Data("abcdefgh".utf8)
        let body = DataBody(data)
        #expect(body.length == 8)
        #expect(try Self.readAll(body, by: size) == data)
        #expect(try Self.read(body, size) == Data(), "the end stays the end")
    }

    @Test("A slice of other data is a body like any other")
    func slice() throws {
        let body = DataBody(Data("0123456789".utf8)[3..<7])
        #expect(body.length == 4)
        #expect(try Self.readAll(body, by: 3) == Data("3456".utf8))
    }

    @Test("It starts again anywhere within itself, and nowhere else")
    func seeking() throws {
        let body = DataBody(Data("abcdefgh".utf8))
        _ = try Self.readAll(body, by: 5)
        #expect(body.seek(to: 0))
        #expect(try Self.read(body, 3) == Data("abc".utf8))
        #expect(body.seek(to: 6))
        #expect(try Self.readAll(body, by: 5) == Data("gh".utf8))
        #expect(body.seek(to: 8))
        #expect(try Self.read(body, 3) == Data())
        for offset in [-1, 9, .max, .min] as [Int64] { #expect(!body.seek(to: offset)) }
    }

    @Test("A part of a body begins and ends where it should, also when it is read again")
    func parts() throws {
        let data = Data("0123456789".utf8)
        for (start, length, text) in [(2, 5, "23456"), (2, nil, "23456789"), (8, 5, "89"), (10, 1, ""), (0, 0, "")]
            as [(Int64, Int64?, String)]
        {
            let body = try #require(RemainingBody(DataBody(data), from: start, length: length))
            #expect(body.length == Int64(text.utf8.count))
            #expect(try Self.readAll(body, by: 3) == Data(text.utf8))
            #expect(body.seek(to: 0))
            #expect(try Self.readAll(body, by: 100) == Data(text.utf8))
        }
        #expect(RemainingBody(DataBody(data), from: 11) == nil && RemainingBody(DataBody(data), from: -1) == nil)
    }

    @Test("An empty body has the length 0, and ends at once")
    func empty() throws {
        let body = DataBody(Data())
        #expect(body.length == 0)
        #expect(try Self.read(body, 10) == Data())
        #expect(body.seek(to: 0))
    }

    // MARK: - Files

    @Test("A file is read in pieces, and from the start again")
    func file() throws {
        let directory = try TemporaryDirectory()
        let content = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0 / 7) })
        let body = try FileBody(directory.file(content))
        defer { body.close() }
        #expect(body.length == 100_000)
        #expect(try Self.readAll(body, by: 16_384) == content)
        #expect(body.seek(to: 99_990))
        #expect(try Self.readAll(body, by: 16_384) == content.suffix(10))
        #expect(body.seek(to: 0))
        #expect(try Self.read(body, 5) == content.prefix(5))
        for offset in [-1, 100_001, .max] as [Int64] { #expect(!body.seek(to: offset)) }
    }

    @Test("A file that becomes shorter while it is sent fails the upload")
    func shrinking() throws {
        let directory = try TemporaryDirectory()
        let url = try directory.file(Data(count: 1000))
        let body = try FileBody(url)
        defer { body.close() }
        _ = try Self.read(body, 400)
        #expect(truncate(url.path, 500) == 0)
        #expect(try Self.read(body, 400)?.count == 100)
        #expect(Self.code { _ = try Self.read(body, 400) } == .cannotOpenFile)
    }

    @Test("What a file grows by is not sent")
    func growing() throws {
        let directory = try TemporaryDirectory()
        let url = try directory.file(Data("abc".utf8))
        let body = try FileBody(url)
        defer { body.close() }
        try Data("abcdef".utf8).write(to: url)
        let handle = try FileHandle(forUpdating: url)
        try handle.close()
        #expect(try Self.readAll(body, by: 2).count == 3)
    }

    @Test("A file that is moved away while it is sent is still sent")
    func moved() throws {
        let directory = try TemporaryDirectory()
        let url = try directory.file(Data("abc".utf8))
        let body = try FileBody(url)
        defer { body.close() }
        try FileManager.default.removeItem(at: url)
        #expect(try Self.readAll(body, by: 10) == Data("abc".utf8))
    }

    @Test("What isn't there, is a directory, or is no file is refused")
    func refusals() throws {
        let directory = try TemporaryDirectory()
        #expect(Self.code { _ = try FileBody(directory.url.appendingPathComponent("x")) } == .fileDoesNotExist)
        #expect(Self.code { _ = try FileBody(directory.url) } == .fileIsDirectory)
        #expect(Self.code { _ = try FileBody(URL(fileURLWithPath: "/dev/null")) } == .fileDoesNotExist)
        let remote = try Sample.url("http://example.com/")
        #expect(Self.code { _ = try FileBody(remote) } == .fileDoesNotExist)
    }

    @Test("A refusal is about the request, and names the file")
    func failingURL() throws {
        let directory = try TemporaryDirectory()
        let file = directory.url.appendingPathComponent("x")
        let url = try Sample.url("http://example.com/")
        do {
            _ = try FileBody(file, for: url)
            Issue.record("it was opened")
        } catch {
            #expect(error.failingURL == url)
            #expect(error.userInfo[NSFilePathErrorKey] as? String == file.path)
        }
    }

    @Test("A named pipe is refused without waiting for its writer")
    func pipe() throws {
        let directory = try TemporaryDirectory()
        let path = directory.url.appendingPathComponent("pipe")
        #expect(mkfifo(path.path, 0o600) == 0)
        #expect(Self.code { _ = try FileBody(path) } == .fileDoesNotExist)
    }

    @Test("A file that may not be read says so")
    func forbidden() throws {
        let directory = try TemporaryDirectory()
        let url = try directory.file(Data("abc".utf8))
        #expect(chmod(url.path, 0) == 0)
        try asOrdinaryUser {
            #expect(Self.code { _ = try FileBody(url) } == .noPermissionsToReadFile)
        }
    }

    @Test("A refused or closed file leaves no descriptor behind")
    func descriptors() throws {
        let directory = try TemporaryDirectory()
        let file = try directory.file(Data("abc".utf8))
        // Nobody else opens what this test alone knows of.
        func openHere() throws -> Int {
            try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count { name in
                let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + name)
                return target?.contains(directory.url.lastPathComponent) ?? false
            }
        }
        let body = try FileBody(file)
        #expect(try openHere() == 1)
        body.close()
        #expect(Self.code { _ = try FileBody(directory.url) } == .fileIsDirectory)
        #expect(try openHere() == 0)
    }
}
