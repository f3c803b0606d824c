import CurlNetworking
import Foundation
import Glibc
import CurlNetworkingLocks
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("The file of a download", .timeLimit(.minutes(1)))
struct DownloadFileTests {
    /// A file while a download owns it.
    struct Look: Sendable {
        let directory: String
        let mode: Int?
        let content: Data?

        init(at file: URL) {
            directory = file.deletingLastPathComponent().standardizedFileURL.path
            mode = (try? FileManager.default.attributesOfItem(atPath: file.path))?[.posixPermissions] as? Int
            content = try? Data(contentsOf: file)
        }
    }

    static let body = GeneratedBody.bytes(seed: 1, length: 300_000)

    let directory: TemporaryDirectory
    let elsewhere: TemporaryDirectory
    let server: LoopbackServer

    init() throws {
        directory = try TemporaryDirectory()
        elsewhere = try TemporaryDirectory()
        server = try LoopbackServer { _ in .generated(length: 300_000, seed: 1) }
    }

    private var destination: URL { elsewhere.url.appendingPathComponent("moved", isDirectory: false) }

    private func expectPrivate(_ look: Look?) throws {
        let look = try #require(look)
        #expect(look.directory == directory.url.standardizedFileURL.path)
        #expect(look.mode == 0o600)
        #expect(look.content == Self.body)
    }

    /// Downloads with a delegate that does `action` with the file.
    private func download(_ action: @escaping @Sendable (URL) -> Void = { _ in }) async throws -> Look? {
        let look = Mutex<Look?>(nil)
        let delegate = RecordingDelegate(onDownload: { file in
            look.withLock { $0 = Look(at: file) }
            action(file)
        })
        let session = URLSession.forDownloads(to: directory, delegate: delegate)
        let task = session.downloadTask(with: server.url("/"))
        task.resume()
        try await delegate.success(of: task)
        return look.withLock { $0 }
    }

    /// Downloads with a completion handler that does `action` with the file, and returns when the session is done.
    private func downloadWithHandler(_ action: @escaping @Sendable (URL) -> Void = { _ in }) async throws -> Look? {
        let delegate = RecordingDelegate()
        let session = URLSession.forDownloads(to: directory, delegate: delegate)
        let look = Mutex<Look?>(nil)
        session.downloadTask(with: server.url("/")) { file, _, _ in
            guard let file else { return }
            look.withLock { $0 = Look(at: file) }
            action(file)
        }.resume()
        session.finishTasksAndInvalidate()
        try await delegate.invalidation()
        return look.withLock { $0 }
    }

    @Test("The file is private and in the configured directory while the delegate has it, and gone afterwards")
    func delegate() async throws {
        try expectPrivate(await download())
        #expect(directory.content == [])
    }

    @Test("The file is private and in the configured directory while the handler has it, and gone afterwards")
    func handler() async throws {
        try expectPrivate(await downloadWithHandler())
        #expect(directory.content == [])
    }

    @Test("The file stays where the delegate has moved it")
    func movedByDelegate() async throws {
        let destination = destination
        _ = try await download { try? FileManager.default.moveItem(at: $0, to: destination) }
        #expect(try Data(contentsOf: destination) == Self.body)
        #expect(directory.content == [])
    }

    @Test("The file stays where the handler has moved it")
    func movedByHandler() async throws {
        let destination = destination
        _ = try await downloadWithHandler { try? FileManager.default.moveItem(at: $0, to: destination) }
        #expect(try Data(contentsOf: destination) == Self.body)
        #expect(directory.content == [])
    }

    @Test("A file that the delegate has deleted isn't missed, and one that took its place stays")
    func replaced() async throws {
        _ = try await download { try? FileManager.default.removeItem(at: $0) }
        #expect(directory.content == [])
        _ = try await download { file in
            let other = file.appendingPathExtension("other")
            try? Data("mine".utf8).write(to: other)
            rename(other.path, file.path)
        }
        #expect(directory.content.count == 1)
    }

    @Test("A file that the delegate has opened can be read after its method has returned")
    func opened() async throws {
        let handle = Mutex<FileHandle?>(nil)
        _ = try await download { file in handle.withLock { $0 = try? FileHandle(forReadingFrom: file) } }
        #expect(directory.content == [])
        #expect(try handle.withLock { try $0?.readToEnd() } == Self.body)
    }

    @Test("The file of an async method is the caller's, and private")
    func async() async throws {
        let session = URLSession.forDownloads(to: directory)
        let (file, _) = try await session.download(from: server.url("/"))
        session.invalidateAndCancel()
        try expectPrivate(Look(at: file))
    }

    @Test("The file is private from its first byte on")
    func underway() async throws {
        let gate = Gate()
        let server = try LoopbackServer { _ in .pieces([.bytes("first"), .waitFor(gate), .bytes("second")]) }
        let delegate = RecordingDelegate()
        let session = URLSession.forDownloads(to: directory, delegate: delegate)
        let task = session.downloadTask(with: server.url("/"))
        task.resume()
        try await delegate.wait(for: task) { $0.isWritten(upTo: 5) }
        try #require(directory.content.count == 1)
        let look = Look(at: directory.url.appendingPathComponent(directory.content[0]))
        #expect(look.mode == 0o600)
        #expect(look.content == Data("first".utf8))
        gate.open()
        try await delegate.success(of: task)
    }

    @Test("There is a file for an empty body, too")
    func empty() async throws {
        let server = try LoopbackServer { $0.path == "/empty" ? .text("") : .status(204) }
        let session = URLSession.forDownloads(to: directory)
        for path in ["/empty", "/nothing"] {
            let (file, _) = try await session.download(from: server.url(path))
            #expect(try Data(contentsOf: file).isEmpty)
        }
        #expect(directory.content.count == 2)
    }

    @Test("The file holds the body of an error response", arguments: [400, 404, 500, 503])
    func errorStatus(status: Int) async throws {
        let server = try LoopbackServer { _ in .text("sorry", status: status) }
        let session = URLSession.forDownloads(to: directory)
        let result = await session.download(URLRequest(url: server.url("/")))
        #expect(result.error == nil)
        #expect(result.response?.statusCode == status)
        #expect(result.content == Data("sorry".utf8))
        try await session.allTasksCompleted()
        #expect(directory.content == [])
    }

    @Test("The file is private whatever the umask of the process")
    func umask() async throws {
        await #expect(processExitsWith: .success) { [url = server.url("/") as URL] in
            _ = Glibc.umask(0)
            let (file, _) = try await URLSession.forTest().download(from: url)
            defer { try? FileManager.default.removeItem(at: file) }
            #expect(Look(at: file).mode == 0o600)
        }
    }
}
