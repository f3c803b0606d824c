import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("A download task delivers its file", .timeLimit(.minutes(1)))
struct DownloadDeliveryTests {
    static let length = 1_500_000
    static let body = GeneratedBody.bytes(seed: 7, length: length)

    let directory: TemporaryDirectory
    let server: LoopbackServer

    init() throws {
        directory = try TemporaryDirectory()
        server = try LoopbackServer { _ in .generated(length: Int64(Self.length), seed: 7) }
    }

    @Test("A completion handler gets the file and the response")
    func handler() async throws {
        let session = URLSession.forDownloads(to: directory)
        let result = await session.download(URLRequest(url: server.url("/file")))
        #expect(result.content == Self.body)
        #expect(result.response?.statusCode == 200)
        #expect(result.response?.expectedContentLength == Int64(Self.length))
        #expect(result.error == nil)
    }

    @Test("A delegate gets the file before it hears of the completion")
    func delegate() async throws {
        let delegate = RecordingDelegate()
        let session = URLSession.forDownloads(to: directory, delegate: delegate)
        let task = session.downloadTask(with: server.url("/file"))
        task.resume()
        #expect(try await delegate.completion(of: task) == nil)
        #expect(delegate.body(of: task) == Self.body)
        #expect(delegate.story(of: task) == ["created", "wrote", "finished downloading", "completed"])
        #expect(task.countOfBytesReceived == Int64(Self.length))
        #expect(task.countOfBytesExpectedToReceive == Int64(Self.length))
        #expect(task.state == .completed)
        #expect(task.error == nil)
    }

    @Test("The task's own delegate gets the file rather than the session's")
    func taskDelegate() async throws {
        let (sessions, own) = (RecordingDelegate(), RecordingDelegate())
        let session = URLSession.forDownloads(to: directory, delegate: sessions)
        let task = session.downloadTask(with: server.url("/file"))
        task.delegate = own
        task.resume()
        #expect(try await own.completion(of: task) == nil)
        #expect(own.body(of: task) == Self.body)
        #expect(sessions.story(of: task) == ["created"])
    }

    @Test("The caller of an async method gets the file, and owns it from then on")
    func async() async throws {
        let session = URLSession.forDownloads(to: directory)
        let (file, response) = try await session.download(from: server.url("/file"))
        #expect(try Data(contentsOf: file) == Self.body)
        #expect((response as? HTTPURLResponse)?.statusCode == 200)
        #expect(directory.content == [file.lastPathComponent])
    }

    @Test("Without delegate and handler, a download completes and leaves no file behind")
    func nobody() async throws {
        let session = URLSession.forDownloads(to: directory)
        let task = session.downloadTask(with: server.url("/file"))
        task.resume()
        try await session.allTasksCompleted()
        #expect(task.state == .completed)
        #expect(task.error == nil)
        #expect(directory.content == [])
    }

    @Test("Fifty downloads at once each get their own file", .timeLimit(.minutes(1)))
    func concurrently() async throws {
        let server = try LoopbackServer { request in
            let number = UInt64(request.parameter("number") ?? "") ?? 0
            return .generated(length: 100_000 + Int64(number), seed: number)
        }
        let session = URLSession.forDownloads(to: directory) { $0.httpMaximumConnectionsPerHost = 16 }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<50 {
                group.addTask {
                    let (file, _) = try await session.download(from: server.url("/?number=\(number)"))
                    let body = GeneratedBody.bytes(seed: UInt64(number), length: 100_000 + number)
                    #expect(try Data(contentsOf: file) == body)
                    try FileManager.default.removeItem(at: file)
                }
            }
            try await group.waitForAll()
        }
        #expect(directory.content == [])
    }

    @Test("The file has only the last body of a chain of redirects")
    func redirects() async throws {
        let server = try LoopbackServer { request in
            request.path == "/end"
                ? .text("the end")
                : LoopbackServer.Response.text("not this", status: 302).header("Location", "/end")
        }
        let session = URLSession.forDownloads(to: directory)
        let (file, response) = try await session.download(from: server.url("/start"))
        #expect(try String(contentsOf: file, encoding: .utf8) == "the end")
        #expect(response.url?.path == "/end")
    }

    @Test("The file has the decoded body")
    func decoded() async throws {
        let text = Data(base64Encoded: "H4sIAAAAAAACA8tIzcnJVyjPL8pJAQCFEUoNCwAAAA==")
        let server = try LoopbackServer { _ in
            LoopbackServer.Response.data(text ?? Data()).header("Content-Encoding", "gzip")
        }
        let delegate = RecordingDelegate()
        let session = URLSession.forDownloads(to: directory, delegate: delegate)
        let task = session.downloadTask(with: server.url("/"))
        task.resume()
        #expect(try await delegate.completion(of: task) == nil)
        #expect(delegate.body(of: task) == Data("hello world".utf8))
        #expect(delegate.events(of: task).contains(.wrote(11, total: 11, expected: -1)))
    }
}
