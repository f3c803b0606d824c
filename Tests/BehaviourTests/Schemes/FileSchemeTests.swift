import CurlNetworking
import Foundation
import Glibc
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Loading files", .timeLimit(.minutes(1)))
struct FileSchemeTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    @Test("The content comes with length and type", arguments: [0, 1, 1_000_000])
    func content(length: Int) async throws {
        let file = try directory.file("page.HTML", length: Int64(length), seed: 4)
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let (data, response) = try await session.data(from: file)
        #expect(data == GeneratedBody.bytes(seed: 4, length: length))
        #expect(response.url == file)
        #expect(response.mimeType == "text/html")
        #expect(response.suggestedFilename == "page.HTML")
        #expect(!(response is HTTPURLResponse))
        #expect(response.expectedContentLength == Int64(length))
    }

    @Test("A download is a copy, and the original stays")
    func download() async throws {
        let file = try directory.file(length: 700_000, seed: 4)
        let target = try TemporaryDirectory()
        let delegate = RecordingDelegate()
        let session = URLSession.forDownloads(to: target, delegate: delegate)
        defer { session.invalidateAndCancel() }
        let task = session.downloadTask(with: file)
        task.resume()
        try await delegate.success(of: task)
        #expect(delegate.body(of: task) == GeneratedBody.bytes(seed: 4, length: 700_000))
        #expect(delegate.story(of: task) == ["created", "wrote", "finished downloading", "completed"])
        #expect(FileManager.default.fileExists(atPath: file.path))
        #expect(task.countOfBytesExpectedToReceive == 700_000)
    }

    @Test("A file that can't be read fails the task with the reason")
    func errors() async throws {
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        func error(_ url: URL) async -> URLError? { await session.load(url).error }

        let missing = directory.url.appendingPathComponent("none")
        #expect(await error(missing)?.code == .fileDoesNotExist)
        #expect(await error(missing)?.failingURL == missing)
        #expect(await error(try directory.file(Data()).appendingPathComponent("below"))?.code == .fileDoesNotExist)
        #expect(await error(directory.url)?.code == .fileIsDirectory)
        // No user may read it, the superuser included.
        #expect(await error(URL(fileURLWithPath: "/proc/sys/vm/compact_memory"))?.code == .noPermissionsToReadFile)
        #expect(await error(try #require(URL(string: "file://elsewhere.invalid/etc/hostname")))?.code == .badURL)
        let cut = try #require(URL(string: directory.file(Data("x".utf8)).absoluteString + "%00"))
        #expect([.badURL, .fileDoesNotExist].contains(await error(cut)?.code))
    }

    private func pipe() throws -> URL {
        let pipe = directory.url.appendingPathComponent("pipe")
        try #require(mkfifo(pipe.path, 0o600) == 0)
        return pipe
    }

    @Test("Neither a pipe nor a device is opened like a file: nothing hangs, and nothing is endless")
    func special() async throws {
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let pipe = try pipe()
        for url in [pipe, URL(fileURLWithPath: "/dev/zero")] {
            #expect(await session.load(url).error?.code == .cannotOpenFile)
        }
    }

    @Test("A pipe isn't opened at all, and a writer that waits for a reader loses nothing")
    func waitingWriter() async throws {
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let pipe = try pipe()
        let upload = URLRequest(url: try #require(URL(string: "http://127.0.0.1:\(LoopbackServer.refusingPort())/")))
        Thread { try? Data("precious".utf8).write(to: pipe) }.start()
        for _ in 0..<50 {
            #expect(await session.load(pipe).error?.code == .cannotOpenFile)
            await #expect { try await session.upload(for: upload, fromFile: pipe) } throws: {
                ($0 as? URLError)?.code == .cannotOpenFile
            }
        }
        let reader = try FileHandle(forReadingFrom: pipe)
        #expect(try reader.readToEnd() == Data("precious".utf8))
    }

    /// Below `/sys` every file claims to have a page.
    @Test(
        "A file whose length the system doesn't know beforehand is read to its end",
        arguments: [("/proc/self/status", "VmSize"), ("/sys/class/net/lo/mtu", "\n")]
    )
    func unknownLength(path: String, content: String) async throws {
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let (data, response) = try await session.data(from: URL(fileURLWithPath: path))
        let text = String(decoding: data, as: UTF8.self)
        #expect(text.contains(content) && text.hasSuffix("\n"))
        #expect(response.expectedContentLength == -1)
    }

    @Test("A delegate that is slow holds up the reading: of a large file only little waits in memory")
    func backPressure() async throws {
        let file = try directory.file(length: 40 << 20, seed: 4)
        let (reached, goOn) = (Gate(), Gate())
        let delegate = RecordingDelegate(
            keepsBodies: false,
            onEvent: { _, event in
                guard event.name == "data" else { return }
                reached.open()
                goOn.waitBlocking()
            }
        )
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: file)
        task.resume()
        try await reached.wait()
        // Other tasks go on meanwhile: by the time they are done, a reader without bounds would be far ahead.
        for _ in 0..<20 { _ = try await session.data(from: file) }
        #expect(task.countOfBytesReceived < 2 << 20)
        goOn.open()
        try await delegate.success(of: task)
        #expect(task.countOfBytesReceived == 40 << 20)
    }

    @Test("Suspending stops the reading, and it goes on where it was")
    func suspension() async throws {
        let file = try directory.file(length: 20 << 20, seed: 4)
        let suspended = Gate()
        let delegate = RecordingDelegate(onEvent: { task, event in
            guard event.name == "data", let task, task.state == .running, !suspended.isOpen else { return }
            task.suspend()
            suspended.open()
        })
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: file)
        task.resume()
        try await suspended.wait()
        _ = try await session.data(from: file)
        #expect(task.countOfBytesReceived < 20 << 20)
        #expect(task.state == .suspended)
        task.resume()
        try await delegate.success(of: task)
        #expect(delegate.body(of: task) == GeneratedBody.bytes(seed: 4, length: 20 << 20))
    }

    @Test("Cancelling ends the reading")
    func cancellation() async throws {
        let file = try directory.file(length: 20 << 20, seed: 4)
        let delegate = RecordingDelegate(onEvent: { task, event in
            if event.name == "data" { task?.cancel() }
        })
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: file)
        task.resume()
        #expect(try await delegate.completion(of: task)?.code == .cancelled)
        #expect(task.countOfBytesReceived < 20 << 20)
    }

    @Test("A response can become a download")
    func becomesDownload() async throws {
        let file = try directory.file(length: 3 << 20, seed: 4)
        let delegate = RecordingDelegate(onResponse: { _, _, answer in answer(.becomeDownload) })
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: file)
        task.resume()
        try await delegate.success(of: task)
        #expect(delegate.body(of: task) == GeneratedBody.bytes(seed: 4, length: 3 << 20))
    }
}

@Suite("Schemes", .timeLimit(.minutes(1)))
struct SchemeTests {
    @Test(
        "A scheme other than http, https, ftp, ftps, file and data is unsupported",
        arguments: ["gopher://h/", "x:y", "ws+x://h/", "//h/a", "mailto:a@b"]
    )
    func unsupported(text: String) async throws {
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        #expect(await session.load(try #require(URL(string: text))).error?.code == .unsupportedURL)
    }

    @Test(
        "A server can't lead a task to a file, to data or to an FTP server",
        arguments: ["file:///etc/hostname", "data:,x", "ftp://127.0.0.1/x", "ftps://127.0.0.1/x"]
    )
    func redirect(target: String) async throws {
        let rig = try Rig { _ in .redirect(to: target, status: 302) }
        defer { rig.stop() }
        let result = await rig.session.load(rig.url("/"))
        #expect(result.error?.code == .unsupportedURL)
        #expect(result.data == nil)
    }
}
