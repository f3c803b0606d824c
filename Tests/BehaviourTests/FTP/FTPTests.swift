import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("FTP, with vsftpd", .timeLimit(.minutes(1)))
struct FTPTests {
    private let server: Vsftpd

    init() throws {
        server = try Vsftpd.shared()
    }

    /// A name of this test's own.
    private let name = "\(UUID().uuidString).txt"
    private var url: URL { server.url("/upload/\(name)") }

    @Test("A file comes with its length and type", arguments: [0, 1, 3_000_000])
    func content(length: Int) async throws {
        let content = GeneratedBody.bytes(seed: 8, length: length)
        try server.publish(name, content)
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let (data, response) = try await session.data(from: url)
        #expect(data == content)
        #expect(response.url == url)
        #expect(response.mimeType == "text/plain")
        #expect(response.expectedContentLength == Int64(length))
        #expect(!(response is HTTPURLResponse))
    }

    @Test("A delegate hears of response, body and end")
    func story() async throws {
        try server.publish(name, Data("hello".utf8))
        let delegate = RecordingDelegate()
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: url)
        task.resume()
        try await delegate.success(of: task)
        #expect(delegate.story(of: task) == ["created", "response", "data", "completed"])
        #expect(delegate.body(of: task) == Data("hello".utf8))
    }

    @Test("A download tells how far it is")
    func download() async throws {
        let content = GeneratedBody.bytes(seed: 8, length: 2_000_000)
        try server.publish(name, content)
        let delegate = RecordingDelegate()
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let task = session.downloadTask(with: url)
        task.resume()
        try await delegate.success(of: task)
        #expect(delegate.body(of: task) == content)
        #expect(
            delegate.events(of: task).contains { event in
                if case .wrote(_, let total, let expected) = event {
                    total == 2_000_000 && expected == 2_000_000
                } else {
                    false
                }
            }
        )
    }

    @Test("A path that ends with a slash is a listing")
    func listing() async throws {
        try server.publish(name, Data("hello".utf8))
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let (data, response) = try await session.data(from: server.url("/upload/"))
        #expect(String(decoding: data, as: UTF8.self).contains(name))
        #expect(response.mimeType == "text/plain")
        #expect(response.expectedContentLength == -1)
    }

    @Test("The names in a folder are those in the one that the URL names", arguments: ["/upload", "/upload/"])
    func names(path: String) async throws {
        try server.publish(name, Data("hello".utf8))
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let (data, response) = try await session.data(from: server.url(path + ";type=d"))
        #expect(String(decoding: data, as: UTF8.self).split(whereSeparator: \.isNewline).contains(name[...]))
        #expect(response.mimeType == "text/plain")
    }

    @Test("HEAD asks for the attributes alone")
    func attributes() async throws {
        try server.publish(name, Data("hello".utf8))
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let (data, response) = try await session.data(for: URLRequest(url, method: "HEAD"))
        #expect(data.isEmpty)
        #expect(response.expectedContentLength == 5)
    }

    @Test(
        "A missing file and one that is a directory don't exist, and a missing directory can't be entered",
        arguments: [
            ("/none", .fileDoesNotExist), ("/upload", .fileDoesNotExist), ("/none/none", .noPermissionsToReadFile),
            ("/upload/none/", .noPermissionsToReadFile),
        ] as [(String, URLError.Code)]
    )
    func missing(path: String, code: URLError.Code) async throws {
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let error = await session.load(server.url(path)).error
        #expect(error?.code == code)
        #expect(error?.curlText?.isEmpty == false)
    }

    @Test("A login that the server refuses is an authentication error")
    func login() async throws {
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let url = try #require(URL(string: "ftp://nobody:wrong@127.0.0.1:\(server.port)/upload/x"))
        #expect(await session.load(url).error?.code == .userAuthenticationRequired)
    }

    @Test("Data, files and streams are stored", arguments: ["data", "file", "stream"])
    func upload(kind: String) async throws {
        let content = GeneratedBody.bytes(seed: 9, length: 1_000_000)
        let delegate = RecordingDelegate()
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let directory = try TemporaryDirectory()
        var request = URLRequest(url)
        let task: URLSessionUploadTask
        switch kind {
        case "data": task = session.uploadTask(with: request, from: content)
        case "file": task = session.uploadTask(with: request, fromFile: try directory.file(content))
        default:
            request.httpBodyStream = InputStream(data: content)
            task = session.uploadTask(withStreamedRequest: request)
        }
        task.resume()
        try await delegate.success(of: task)
        #expect(try Data(contentsOf: server.file(name)) == content)
        #expect(task.countOfBytesSent == 1_000_000)
        #expect(delegate.story(of: task) == ["created", "sent", "response", "completed"])
    }

    @Test(
        "Where the server can't write, and in a directory that isn't there, an upload fails",
        arguments: [
            ("/upload", .cannotCreateFile), ("/none/file", .noPermissionsToReadFile),
        ] as [(String, URLError.Code)]
    )
    func refusedUpload(path: String, code: URLError.Code) async throws {
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let request = URLRequest(server.url(path))
        let error = await #expect(throws: URLError.self) {
            _ = try await session.upload(for: request, from: Data("x".utf8))
        }
        #expect(error?.code == code)
    }

    @Test("PUT and POST without a body store an empty file", arguments: ["PUT", "POST"])
    func emptyFile(method: String) async throws {
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        _ = try await session.data(for: URLRequest(url, method: method))
        #expect(try Data(contentsOf: server.file(name)) == Data())
    }

    @Test("A GET whose httpBody is empty reads the file, and stores nothing in its place")
    func emptyBody() async throws {
        let content = Data("hello".utf8)
        try server.publish(name, content)
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        #expect(try await session.data(for: URLRequest(url, body: Data())).0 == content)
        #expect(try Data(contentsOf: server.file(name)) == content)
    }

    @Test("A paused download goes on where it was")
    func resuming() async throws {
        let length = 30_000_000
        let content = GeneratedBody.bytes(seed: 8, length: length)
        try server.publish(name, content)
        let directory = try TemporaryDirectory()
        let data = try #require(try await PausedDownload.pauseEarly(URLRequest(url), in: directory))
        let resumed = try await ResumedDownload(data, in: directory)
        #expect(resumed.error == nil)
        #expect(resumed.hasContinued)
        #expect(resumed.body == content)
    }

    @Test("A file that has changed since is fetched anew", arguments: [10_000_000, 30_000_000])
    func changed(length: Int) async throws {
        try server.publish(name, GeneratedBody.bytes(seed: 8, length: 30_000_000))
        let directory = try TemporaryDirectory()
        let data = try #require(try await PausedDownload.pauseEarly(URLRequest(url), in: directory))
        let changed = GeneratedBody.bytes(seed: 9, length: length)
        try server.publish(name, changed)
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSince1970: 1e9)],
            ofItemAtPath: server.file(name).path
        )
        let resumed = try await ResumedDownload(data, in: directory)
        #expect(resumed.error == nil)
        #expect(!resumed.hasContinued)
        #expect(resumed.body == changed)
    }

    @Test("Suspending pauses the transfer, and a slow reader slows it down")
    func suspension() async throws {
        let content = GeneratedBody.bytes(seed: 8, length: 30_000_000)
        try server.publish(name, content)
        let suspended = Watched(false)
        let delegate = RecordingDelegate(onEvent: { task, event in
            guard event.name == "data", let task,
                suspended.update({ isSuspended in
                    defer { isSuspended = true }
                    return !isSuspended
                })
            else { return }
            task.suspend()
        })
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: url)
        task.resume()
        try await suspended.wait { $0 }
        _ = try await session.data(from: server.url("/upload/"))
        #expect(task.countOfBytesReceived < 30_000_000)
        task.resume()
        try await delegate.success(of: task)
        #expect(delegate.body(of: task) == content)
    }

    @Test("Cancelling ends the transfer")
    func cancellation() async throws {
        try server.publish(name, GeneratedBody.bytes(seed: 8, length: 30_000_000))
        let delegate = RecordingDelegate(onEvent: { task, event in
            if event.name == "data" { task?.cancel() }
        })
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: url)
        task.resume()
        #expect(try await delegate.completion(of: task)?.code == .cancelled)
    }

    @Test("Over TLS an unknown certificate is refused, before the login")
    func certificate() async throws {
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let server = try Vsftpd.overTLS()
        #expect(await session.load(server.url("/upload/")).error?.code == .serverCertificateHasUnknownRoot)
    }

    @Test("Over TLS a trusted server's file arrives", .needsTrust)
    func trusted() async throws {
        let server = try Vsftpd.overTLS()
        try server.publish("file", GeneratedBody.bytes(seed: 8, length: 500_000))
        let helper = try NginxTrust(try Nginx.shared().site).startHelper(
            "load",
            "bytes",
            server.url("/upload/file").absoluteString
        )
        #expect(await helper.line() == "ready")
        helper.say("go")
        let line = await helper.line()
        #expect(line?.contains("500000") == true, "\(line ?? "nothing")")
        helper.closeInput()
        _ = await helper.ending()
    }

    @Test("Over TLS no delegate is asked about the server")
    func unasked() async throws {
        let server = try Vsftpd.overTLS()
        try server.publish(name, Data("hello".utf8))
        let delegate = DecidingDelegate(onChallenge: { $0.answer(.cancelAuthenticationChallenge, nil) })
        let session = try trustingSession(delegate: delegate)
        defer { session.invalidateAndCancel() }
        #expect(await session.load(server.url("/upload/\(name)")).text == "hello")
        #expect(delegate.challenges.value.isEmpty)
    }

    private func trustingSession(
        delegate: (any URLSessionDelegate)? = nil,
        _ configure: (URLSessionConfiguration) -> Void = { _ in }
    ) throws -> URLSession {
        let authority = try Nginx.shared().site.authority
        return URLSession.forTest(delegate: delegate) {
            $0.curl.tls.trustRoots = [.file(authority)]
            configure($0)
        }
    }

    @Test("Over TLS a kept connection serves one request after the other")
    func keptOverTLS() async throws {
        let server = try Vsftpd.overTLS()
        let content = GeneratedBody.bytes(seed: 8, length: 3_000_000)
        try server.publish(name, content)
        let session = try trustingSession()
        defer { session.invalidateAndCancel() }
        // A listing needs another type than a file, and the reply to that command may arrive before libcurl asks for the socket.
        for number in 0..<30 {
            #expect(await session.load(server.url("/upload/\(name)")).data == content, "\(number)")
            let listing = await session.load(server.url("/upload/"))
            #expect(listing.text?.contains(name) == true, "\(number): \(String(describing: listing.error))")
        }
    }

    @Test("Over TLS an upload's connection isn't kept, and a download's is")
    func uploadOverTLS() async throws {
        let server = try Vsftpd.overTLS()
        let reusing = Watched<[Int]>([])
        let session = try trustingSession {
            $0.curl.trace = .init { task, event in
                // Data connections are never used again.
                if event.text.contains("using existing") { reusing.update { $0.append(task.taskIdentifier) } }
            }
        }
        defer { session.invalidateAndCancel() }
        let url = server.url("/upload/\(name)")
        func run(_ task: URLSessionTask) async throws {
            let delegate = TimelineDelegate()
            task.delegate = delegate
            task.resume()
            _ = try await delegate.completeStory()
            #expect(task.error == nil)
        }
        try await run(session.uploadTask(with: URLRequest(url, method: "PUT"), from: Data("hello".utf8)))
        try await run(session.dataTask(with: url))
        let last = session.dataTask(with: url)
        try await run(last)
        try await reusing.wait { $0.contains(last.taskIdentifier) }
        #expect(reusing.value == [last.taskIdentifier])
    }
}
