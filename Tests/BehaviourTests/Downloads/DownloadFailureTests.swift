import CurlNetworking
import Foundation
import Glibc
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("A download whose file can't be written fails with a clear error", .timeLimit(.minutes(1)))
struct DownloadFailureTests {
    let server: LoopbackServer

    init() throws {
        server = try LoopbackServer {
            .resource(.generated(length: 1 << 20, seed: 1), for: $0, etag: "\"1\"")
        }
    }

    private func download(to directory: URL) async -> DownloadResult {
        let session = URLSession.forTest { $0.curl.temporaryDirectory = directory }
        return await session.download(URLRequest(url: server.url("/")))
    }

    @Test("A download to a directory that doesn't exist fails, and doesn't create it")
    func noDirectory() async throws {
        let directory = try TemporaryDirectory()
        let missing = directory.url.appendingPathComponent("missing", isDirectory: true)
        let result = await download(to: missing)
        #expect(result.error?.code == .cannotCreateFile)
        #expect((result.error?.userInfo[NSUnderlyingErrorKey] as? NSError)?.code == Int(ENOENT))
        #expect(result.error?.failingURL == server.url("/"))
        #expect((result.error?.userInfo[NSFilePathErrorKey] as? String)?.hasPrefix(missing.path) == true)
        #expect((result.error?.userInfo[NSLocalizedDescriptionKey] as? String)?.isEmpty == false)
        #expect(result.error?.downloadTaskResumeData == nil)
        #expect(result.file == nil)
        #expect(directory.content == [])
    }

    @Test("A download fails if the directory is a file")
    func notADirectory() async throws {
        let directory = try TemporaryDirectory()
        let result = await download(to: try directory.file("file", Data("content".utf8)))
        #expect(result.error?.code == .cannotCreateFile)
        #expect((result.error?.userInfo[NSUnderlyingErrorKey] as? NSError)?.code == Int(ENOTDIR))
        #expect(directory.content == ["file"])
    }

    @Test("A download fails if no file can be created in the directory")
    func notWritable() async throws {
        // Not even root.
        let result = await download(to: URL(fileURLWithPath: "/proc/self", isDirectory: true))
        #expect(result.error?.code == .cannotCreateFile)
    }

    @Test("A download that can't create its file leaves other tasks of its session alone")
    func others() async throws {
        let session = URLSession.forTest { $0.curl.temporaryDirectory = URL(fileURLWithPath: "/proc/self") }
        async let download = session.download(URLRequest(url: server.url("/")))
        async let data = session.data(from: server.url("/"))
        #expect(await download.error?.code == .cannotCreateFile)
        #expect(try await data.0 == GeneratedBody.bytes(seed: 1, length: 1 << 20))
    }

    @Test("A download fails if its file can't grow any further")
    func full() async {
        await #expect(processExitsWith: .success) { [url = server.url("/") as URL] in
            let directory = try TemporaryDirectory()
            // As on a full disk, the first bytes are taken; the error comes with the next.
            _ = signal(SIGXFSZ, SIG_IGN)
            var limit = rlimit(rlim_cur: 300_000, rlim_max: 300_000)
            try #require(setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0)
            let delegate = RecordingDelegate()
            let session = URLSession.forDownloads(to: directory, delegate: delegate)
            let task = session.downloadTask(with: url)
            task.resume()
            let error = try await delegate.completion(of: task)
            #expect(error?.code == .cannotWriteToFile)
            #expect((error?.userInfo[NSUnderlyingErrorKey] as? NSError)?.code == Int(EFBIG))
            #expect(error?.failingURL == url)
            #expect(error?.userInfo[NSFilePathErrorKey] is String)
            #expect(error?.downloadTaskResumeData == nil)
            #expect(!delegate.story(of: task).contains("finished downloading"))
            #expect(directory.content == [])

            let result = await session.download(URLRequest(url: url))
            #expect(result.error?.code == .cannotWriteToFile)
            let thrown = await #expect(throws: URLError.self) { try await session.download(from: url) }
            #expect(thrown?.code == .cannotWriteToFile)
            #expect(directory.content == [])
        }
    }

    @Test("A resumed download fails if its file can't grow, and can be resumed again")
    func fullWhileResuming() async throws {
        let paused = try await PausedDownload(from: ResumeOrigin())
        let (data, path) = (paused.resumeData, paused.directory.url.path)
        await #expect(processExitsWith: .success) { [data = data as Data, path = path as String] in
            _ = signal(SIGXFSZ, SIG_IGN)
            let directory = URL(fileURLWithPath: path, isDirectory: true)
            // Too little for the rest, then even for the copy.
            for size: UInt in [200_000, 100_000] {
                var limit = rlimit(rlim_cur: size, rlim_max: 200_000)
                try #require(setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0)
                let session = URLSession.forTest { $0.curl.temporaryDirectory = directory }
                let error = await #expect(throws: URLError.self) { try await session.download(resumeFrom: data) }
                #expect(error?.code == .cannotWriteToFile)
                #expect(error?.downloadTaskResumeData == data)
            }
        }
        #expect(paused.directory.content.count == 1)
        let resumed = try await paused.resume()
        #expect(resumed.hasContinued)
        #expect(resumed.body == ResumeOrigin.bytes)
    }

    @Test("A download fails if its file is taken away in the middle", arguments: [false, true])
    func deleted(isReplaced: Bool) async throws {
        let directory = try TemporaryDirectory()
        let gate = Gate()
        let server = try LoopbackServer { _ in
            LoopbackServer.Response.pieces([.bytes("first"), .waitFor(gate), .bytes("second")])
                .header("ETag", ResumeOrigin.etag)
        }
        let delegate = RecordingDelegate()
        let session = URLSession.forDownloads(to: directory, delegate: delegate)
        let task = session.downloadTask(with: server.url("/"))
        task.resume()
        try await delegate.wait(for: task) { $0.isWritten(upTo: 5) }
        let name = try #require(directory.content.first)
        try FileManager.default.removeItem(at: directory.url.appendingPathComponent(name))
        if isReplaced { _ = try directory.file(name, Data("somebody's".utf8)) }
        gate.open()
        let error = try await delegate.completion(of: task)
        #expect(error?.code == .cannotOpenFile)
        #expect(error?.downloadTaskResumeData == nil)
        #expect(!delegate.story(of: task).contains("finished downloading"))
        #expect(directory.content == (isReplaced ? [name] : []))
    }

    @Test("A download whose file was taken away before it was paused has no resume data")
    func deletedBeforePause() async throws {
        let directory = try TemporaryDirectory()
        let origin = try ResumeOrigin()
        let delegate = RecordingDelegate()
        let session = URLSession.forDownloads(to: directory, delegate: delegate)
        let task = session.downloadTask(with: origin.url)
        task.resume()
        try await delegate.wait(for: task) { $0.isWritten(upTo: ResumeOrigin.heldAt) }
        let name = try #require(directory.content.first)
        try FileManager.default.removeItem(at: directory.url.appendingPathComponent(name))
        #expect(await task.cancelByProducingResumeData() == nil)
        #expect(directory.content == [])
    }
}
