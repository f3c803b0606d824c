import CurlNetworkingLoopbackServer
import CurlTransport
import Foundation
import Glibc
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("Bodies from files", .timeLimit(.minutes(1)))
struct FileBodyTests {
    private static func code(_ body: () throws -> Void) -> URLError.Code? {
        do {
            try body()
            return nil
        } catch {
            return (error as? URLError)?.code
        }
    }

    /// Linux doesn't say what it has in memory of a file in `/dev/shm`, so another thread reads it.
    @Test("A file is read in pieces, and from the start again", arguments: ["/tmp", "/dev/shm"])
    func file(parent: String) async throws {
        let directory = try TemporaryDirectory(in: URL(fileURLWithPath: parent, isDirectory: true))
        let content = GeneratedBody.bytes(seed: 3, length: 3_000_000)
        let reader = BodyReader()
        let body = try reader.body(directory.file(content))
        defer { body.close() }
        #expect(body.length == 3_000_000)
        #expect(try await reader.readAll(body, by: 16_384) == content)
        #expect(body.seek(to: 2_999_990))
        #expect(try await reader.readAll(body, by: 16_384) == content.suffix(10))
        #expect(body.seek(to: 0))
        #expect(try await reader.read(body, 5) == content.prefix(5))
        for offset in [-1, 3_000_001, .max] as [Int64] { #expect(!body.seek(to: offset)) }
    }

    @Test("A file that becomes shorter while it is sent fails the upload")
    func shrinking() async throws {
        let directory = try TemporaryDirectory()
        let url = try directory.file(Data(count: 1000))
        let reader = BodyReader()
        let body = try reader.body(url)
        defer { body.close() }
        _ = try await reader.read(body, 400)
        #expect(truncate(url.path, 500) == 0)
        #expect(try await reader.read(body, 400).count == 100)
        let error = await #expect(throws: URLError.self) { try await reader.read(body, 400) }
        #expect(error?.code == .cannotOpenFile)
    }

    @Test("A file that is read elsewhere starts again anywhere, too, and what was read ahead of that is forgotten")
    func seekingElsewhere() async throws {
        let directory = try TemporaryDirectory(in: URL(fileURLWithPath: "/dev/shm", isDirectory: true))
        let content = GeneratedBody.bytes(seed: 4, length: 1_000_000)
        let reader = BodyReader()
        let body = try reader.body(directory.file(content))
        defer { body.close() }
        for offset in [0, 999_000, 70_000, 70_000, 1_000_000, 1] {
            #expect(body.seek(to: Int64(offset)))
            #expect(try await reader.read(body, 5) == content.dropFirst(offset).prefix(5))
        }
        #expect(try await reader.readAll(body) == content.dropFirst(6))
    }

    @Test("No more of a file is sent than it had at the beginning")
    func growing() async throws {
        let directory = try TemporaryDirectory()
        let url = try directory.file(Data("abc".utf8))
        let reader = BodyReader()
        let body = try reader.body(url)
        defer { body.close() }
        try Data("abcdef".utf8).write(to: url)
        let handle = try FileHandle(forUpdating: url)
        try handle.close()
        #expect(try await reader.readAll(body, by: 2).count == 3)
    }

    @Test("A file that is moved away while it is sent is still sent")
    func moved() async throws {
        let directory = try TemporaryDirectory()
        let url = try directory.file(Data("abc".utf8))
        let reader = BodyReader()
        let body = try reader.body(url)
        defer { body.close() }
        try FileManager.default.removeItem(at: url)
        #expect(try await reader.readAll(body, by: 10) == Data("abc".utf8))
    }

    @Test("A missing file, a directory, or anything else that isn't a file is refused")
    func refusals() throws {
        let directory = try TemporaryDirectory()
        #expect(Self.code { _ = try ReadableFile(directory.url.appendingPathComponent("x")) } == .fileDoesNotExist)
        #expect(Self.code { _ = try ReadableFile(directory.url) } == .fileIsDirectory)
        #expect(Self.code { _ = try ReadableFile(URL(fileURLWithPath: "/dev/null")) } == .cannotOpenFile)
        let remote = try Sample.url("http://example.com/")
        #expect(Self.code { _ = try ReadableFile(remote) } == .fileDoesNotExist)
    }

    @Test("A file of another machine is refused, and so is a URL without a path, whatever is here")
    func places() throws {
        let directory = try TemporaryDirectory()
        let path = try directory.file(Data("abc".utf8)).path
        for host in ["", "localhost", "LOCALHOST"] {
            #expect(try ReadableFile(Sample.url("file://\(host)\(path)")).length == 3)
            #expect(try UploadedFile(Sample.url("file://\(host)\(path)"))?.length == 3)
        }
        for wrong in ["file://elsewhere.invalid\(path)", "file://127.0.0.1\(path)", "file://localhost", "file:"] {
            let url = try Sample.url(wrong)
            #expect(Self.code { _ = try ReadableFile(url) } == .badURL, "\(wrong)")
            #expect(UploadedFile(url) == nil, "\(wrong)")
        }
    }

    @Test("A file whose length the system doesn't know isn't taken for an empty one, or one of a page")
    func unknownLength() throws {
        let directory = try TemporaryDirectory()
        #expect(Self.code { _ = try ReadableFile(URL(fileURLWithPath: "/proc/self/status")) } == .cannotOpenFile)
        #expect(Self.code { _ = try ReadableFile(URL(fileURLWithPath: "/sys/class/net/lo/mtu")) } == .cannotOpenFile)
        // Nothing is at its first address, so it can't be read there.
        #expect(Self.code { _ = try ReadableFile(URL(fileURLWithPath: "/proc/self/mem")) } == .cannotOpenFile)
        #expect(try ReadableFile(directory.file(Data())).length == 0)
    }

    @Test("A refusal is about the request, and names the file")
    func failingURL() throws {
        let directory = try TemporaryDirectory()
        let file = directory.url.appendingPathComponent("x")
        let url = try Sample.url("http://example.com/")
        do {
            _ = try ReadableFile(file, for: url)
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
        #expect(Self.code { _ = try ReadableFile(path) } == .cannotOpenFile)
    }

    @Test("A file that may not be read says so")
    func forbidden() throws {
        let directory = try TemporaryDirectory()
        let url = try directory.file(Data("abc".utf8))
        #expect(chmod(url.path, 0) == 0)
        try asOrdinaryUser {
            #expect(Self.code { _ = try ReadableFile(url) } == .noPermissionsToReadFile)
        }
    }

    @Test("An upload's file that can't be opened fails like that of a file URL", arguments: Unopened.allCases)
    func sameErrors(unopened: Unopened) throws {
        let directory = try TemporaryDirectory()
        let url = try unopened.make(in: directory)
        #expect(Self.code { _ = try ReadableFile(url) } == unopened.code)
        let source = FileSource(url)
        defer { source.close() }
        #expect(Self.code { _ = try source.open() } == unopened.code)
    }

    enum Unopened: CaseIterable {
        case missing, belowFile, directory, pipe, device, loop, longName

        var code: URLError.Code {
            switch self {
            case .missing, .belowFile: .fileDoesNotExist
            case .directory: .fileIsDirectory
            case .pipe, .device, .loop, .longName: .cannotOpenFile
            }
        }

        func make(in directory: TemporaryDirectory) throws -> URL {
            let url = directory.url.appendingPathComponent("x")
            switch self {
            case .missing: return url
            case .belowFile: return try directory.file(Data("abc".utf8)).appendingPathComponent("x")
            case .directory: return directory.url
            case .pipe: #expect(mkfifo(url.path, 0o600) == 0)
            case .device: return URL(fileURLWithPath: "/dev/null")
            case .loop: #expect(symlink("x", url.path) == 0)
            case .longName: return directory.url.appendingPathComponent(String(repeating: "x", count: 300))
            }
            return url
        }
    }

    @Test("A lack of descriptors isn't taken for a missing file")
    func shortage() {
        let fault = FileFault.unreadable(SystemError(code: EMFILE))
        #expect(fault.code == .cannotOpenFile && fault.systemError?.code == EMFILE)
    }

    @Test("A refused or closed file leaves no descriptor behind")
    func descriptors() async throws {
        let directory = try TemporaryDirectory()
        let file = try directory.file(Data("abc".utf8))
        // Nothing else opens what this test alone knows of.
        func openHere() throws -> Int {
            try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count { name in
                let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + name)
                return target?.contains(directory.url.lastPathComponent) ?? false
            }
        }
        let reader = BodyReader()
        let body = try reader.body(file)
        #expect(try openHere() == 1)
        body.close()
        #expect(try await reader.readAll(body).isEmpty)
        #expect(Self.code { _ = try ReadableFile(directory.url) } == .fileIsDirectory)
        // Another thread closes it.
        try await eventually { try openHere() == 0 }
    }
}
