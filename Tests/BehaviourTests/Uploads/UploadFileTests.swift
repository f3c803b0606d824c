import CurlNetworking
import Foundation
import Glibc
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Uploading files", .timeLimit(.minutes(1)))
struct UploadFileTests {
    @Test("The file's content arrives with its length", arguments: [0, 1, 1_000_000])
    func content(length: Int) async throws {
        let directory = try TemporaryDirectory()
        let file = try directory.file(length: Int64(length), seed: 3)
        let rig = try Rig { .text("\($0.bodyLength)") }
        defer { rig.stop() }
        let request = URLRequest(rig.url("/"), method: "PUT")
        let (data, _) = try await rig.session.upload(for: request, fromFile: file)
        #expect(data == Data("\(length)".utf8))
        #expect(rig.server.requests[0].body == GeneratedBody.bytes(seed: 3, length: length))
        #expect(rig.server.requests[0].headers(named: "Content-Length") == ["\(length)"])
        #expect(rig.server.requests[0].header("Expect") == nil)
    }

    @Test("Handler and delegate tasks send files as well")
    func tasks() async throws {
        let directory = try TemporaryDirectory()
        let file = try directory.file("file", Data("content".utf8))
        let delegate = RecordingDelegate()
        let rig = try Rig(delegate: delegate) { .echoBody($0) }
        defer { rig.stop() }
        let request = URLRequest(rig.url("/"), method: "PUT")
        let result = await withCheckedContinuation { continuation in
            rig.session.uploadTask(with: request, fromFile: file) {
                continuation.resume(returning: HandlerResult($0, $1, $2))
            }.resume()
        }
        #expect(result.text == "content")
        let task = rig.session.uploadTask(with: request, fromFile: file)
        task.resume()
        try await delegate.success(of: task)
        #expect(delegate.body(of: task) == Data("content".utf8))
    }

    @Test("A large file is sent as it is read, never held in memory")
    func largeFile() async {
        await #expect(processExitsWith: .success) {
            let server = try LoopbackServer.counting()
            defer { server.stop() }
            let directory = try TemporaryDirectory()
            let file = try directory.file(length: 50 << 20, seed: 3)
            let session = URLSession.forTest()
            let request = URLRequest(server.url("/"), method: "PUT")
            // What the process needs for uploads at all.
            _ = try await session.upload(for: request, fromFile: directory.file("small", length: 1 << 20, seed: 3))
            let before = ProcessUsage().resident
            try ProcessUsage.resetPeak()
            let (data, _) = try await session.upload(for: request, fromFile: file)
            #expect(data == Data("\(50 << 20)".utf8))
            #expect(ProcessUsage().peak - before < ProcessUsage.growth(of: 16 << 20))
        }
    }

    @Test(
        "A file that can't be read fails the task with a clear error, and nothing is sent",
        arguments: ["missing", "directory", "web", "another machine's", "without a length"]
    )
    func unreadable(kind: String) async throws {
        let server = try LoopbackServer { .echoBody($0) }
        defer { server.stop() }
        let directory = try TemporaryDirectory()
        let file: URL
        let expected: URLError.Code
        switch kind {
        case "missing": (file, expected) = (directory.url.appendingPathComponent("none"), .fileDoesNotExist)
        case "directory": (file, expected) = (directory.url, .fileIsDirectory)
        case "another machine's":
            let path = try directory.file("file", Data("x".utf8)).path
            (file, expected) = (try #require(URL(string: "file://elsewhere.invalid" + path)), .badURL)
        case "without a length": (file, expected) = (URL(fileURLWithPath: "/proc/self/status"), .cannotOpenFile)
        default: (file, expected) = (server.url("/file"), .fileDoesNotExist)
        }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let request = URLRequest(server.url("/"), method: "PUT")
        let error = await #expect(throws: URLError.self) { _ = try await session.upload(for: request, fromFile: file) }
        #expect(error?.code == expected)
        #expect(error?.localizedDescription.contains(file.isFileURL ? file.path : file.absoluteString) == true)
        #expect(error?.failingURL == request.url)
        #expect(server.requestCount == 0)
    }

    @Test("A file that this user may not read fails the upload")
    func forbidden() async {
        await #expect(processExitsWith: .success) {
            let rig = try Rig { .echoBody($0) }
            let directory = try TemporaryDirectory()
            let file = try directory.file("file", Data("x".utf8))
            #expect(chmod(file.path, 0) == 0)
            // The superuser may read everything.
            if getuid() == 0 { #expect(seteuid(65534) == 0) }
            defer { _ = seteuid(getuid()) }
            let request = URLRequest(rig.url("/"), method: "PUT")
            let error = await #expect(throws: URLError.self) {
                _ = try await rig.session.upload(for: request, fromFile: file)
            }
            #expect(error?.code == .noPermissionsToReadFile)
            #expect(rig.server.requestCount == 0)
            rig.stop()
        }
    }

    @Test("A file that shrinks while it is sent fails the task, and closes the connection")
    func shrinking() async throws {
        let (stopped, shrunk) = (Gate(), Gate())
        let directory = try TemporaryDirectory()
        let file = try directory.file(length: 64 << 20, seed: 3)
        let delegate = RecordingDelegate()
        let rig = try Rig(answering: .atHead, delegate: delegate) { _ in
            .text("done").after([.stopReading, .open(stopped), .waitFor(shrunk), .resumeReading, .waitForBody])
        }
        defer { rig.stop() }
        let task = rig.session.uploadTask(with: URLRequest(rig.url("/"), method: "PUT"), fromFile: file)
        task.resume()
        try await stopped.wait()
        #expect(truncate(file.path, 1000) == 0)
        shrunk.open()
        let error = try await delegate.completion(of: task)
        #expect(error?.code == .cannotOpenFile)
        #expect(error?.localizedDescription.contains("shorter") == true)
        try await rig.server.waitUntilNoConnections()
        #expect(rig.server.requests[0].bodyState == .cutOff)
    }

    @Test("No more of a file is sent than it had when the upload began")
    func growing() async throws {
        let (stopped, grown) = (Gate(), Gate())
        var options = LoopbackServer.Options()
        options.bodyLimit = 0
        let directory = try TemporaryDirectory()
        let length: Int64 = 32 << 20
        let file = try directory.file(length: length, seed: 3)
        let rig = try Rig(answering: .atHead, options: options) { _ in
            .text("done").after([.stopReading, .open(stopped), .waitFor(grown), .resumeReading, .waitForBody])
        }
        defer { rig.stop() }
        let request = URLRequest(rig.url("/"), method: "PUT")
        async let upload = rig.session.upload(for: request, fromFile: file)
        try await stopped.wait()
        #expect(truncate(file.path, off_t(2 * length)) == 0)
        grown.open()
        _ = try await upload
        #expect(rig.server.requests[0].bodyLength == length)
    }
}
