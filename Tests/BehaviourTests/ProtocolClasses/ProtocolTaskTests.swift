import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("A program's own protocol class loads for tasks of every kind", .timeLimit(.minutes(1)))
struct ProtocolTaskTests {
    private static let network = { @Sendable in
        MockNetwork { load in
            load.respond(200, ["X-Mock": "yes", "Content-Length": "8"])
            load.send("from ")
            load.send("you")
            load.finish()
        }
    }

    @Test("A class loads data for handlers, for async calls, and as bytes")
    func data() async throws {
        let network = Self.network()
        let session = network.session()
        defer { session.invalidateAndCancel() }
        let result = await session.load(network.url())
        #expect(result.text == "from you")
        #expect(result.response?.value(forHTTPHeaderField: "X-Mock") == "yes")
        let (data, response) = try await session.data(from: network.url())
        #expect(data == Data("from you".utf8))
        #expect((response as? HTTPURLResponse)?.statusCode == 200)
        let (bytes, _) = try await session.bytes(from: network.url())
        var lines: [String] = []
        for try await line in bytes.lines { lines.append(line) }
        #expect(lines == ["from you"])
        // Each was stopped, once.
        try await network.stops.wait { $0 == 3 }
    }

    @Test("A class loads files for downloads with handlers and async downloads")
    func downloads() async throws {
        let network = Self.network()
        let session = network.session()
        defer { session.invalidateAndCancel() }
        let (file, _) = try await session.download(from: network.url())
        defer { try? FileManager.default.removeItem(at: file) }
        #expect(try Data(contentsOf: file) == Data("from you".utf8))
        let content: Data? = await withCheckedContinuation { continuation in
            session.downloadTask(with: network.url()) { file, _, _ in
                continuation.resume(returning: file.flatMap { try? Data(contentsOf: $0) })
            }.resume()
        }
        #expect(content == Data("from you".utf8))
    }

    @Test("The delegate of a data task that a class loads hears the usual messages")
    func dataDelegate() async throws {
        let network = Self.network()
        let delegate = TimelineDelegate()
        let session = network.session(delegate: delegate)
        defer { session.invalidateAndCancel() }
        session.dataTask(with: network.url()).resume()
        #expect(try await delegate.completeStory() == ["created", "response", "data", "metrics", "completed"])
        let transactions = try await delegate.metrics().transactionMetrics
        #expect(transactions.map(\.request.url) == [network.url()])
        #expect((transactions.first?.response as? HTTPURLResponse)?.statusCode == 200)
        #expect(transactions.first?.fetchStartDate != nil)
    }

    @Test("The delegate of a download task that a class loads gets its file")
    func downloadDelegate() async throws {
        let network = Self.network()
        let delegate = RecordingDelegate()
        let session = network.session(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let task = session.downloadTask(with: network.url())
        task.resume()
        _ = try await delegate.completion(of: task)
        #expect(delegate.body(of: task) == Data("from you".utf8))
        #expect(task.countOfBytesReceived == 8)
        #expect(task.countOfBytesExpectedToReceive == 8)
        #expect(task.progress.fractionCompleted == 1)
    }

    @Test("A data task's response can make it a download")
    func becomesDownload() async throws {
        let network = Self.network()
        let delegate = TimelineDelegate(onResponse: .becomeDownload)
        let session = network.session(delegate: delegate)
        defer { session.invalidateAndCancel() }
        session.dataTask(with: network.url()).resume()
        let story = try await delegate.completeStory()
        #expect(
            story == [
                "created", "response", "became download", "wrote", "finished downloading", "metrics", "completed",
            ]
        )
    }

    @Test("An upload's data, its file and a request's own body are the object's request's", arguments: [0, 1, 2, 3])
    func uploads(kind: Int) async throws {
        let network = MockNetwork { load in
            load.answer(String(decoding: load.request.allBody, as: UTF8.self))
        }
        let session = network.session()
        defer { session.invalidateAndCancel() }
        let directory = try TemporaryDirectory()
        var request = URLRequest(network.url(), method: "POST")
        let data: Data
        switch kind {
        case 0: (data, _) = try await session.upload(for: request, from: Data("body".utf8))
        case 1: (data, _) = try await session.upload(for: request, fromFile: try directory.file(Data("body".utf8)))
        case 2:
            request.httpBody = Data("body".utf8)
            (data, _) = try await session.data(for: request)
        default:
            request.httpBodyStream = InputStream(data: Data("body".utf8))
            (data, _) = try await session.data(for: request)
        }
        #expect(data == Data("body".utf8))
        #expect(network.requests.value[0].httpMethod == "POST")
    }

    @Test("No object gets a file for an upload whose URL names another machine's, or no file at all")
    func otherMachine() async throws {
        let network = MockNetwork { $0.answer("mine") }
        let session = network.session()
        defer { session.invalidateAndCancel() }
        let directory = try TemporaryDirectory()
        let path = try directory.file(Data("body".utf8)).path
        let request = URLRequest(network.url(), method: "POST")
        for (file, code) in [
            ("file://elsewhere.invalid" + path, URLError.Code.badURL), ("http://127.0.0.1" + path, .fileDoesNotExist),
        ] {
            let file = try #require(URL(string: file))
            let error = await #expect(throws: URLError.self) { try await session.upload(for: request, fromFile: file) }
            #expect(error?.code == code && error?.failingURL == request.url)
        }
        #expect(network.requests.value.isEmpty)
    }

    @Test("A streamed upload's stream comes from its delegate")
    func streamedUpload() async throws {
        let network = MockNetwork { load in
            load.answer(String(decoding: load.request.allBody, as: UTF8.self))
        }
        let source = StreamSource { _ in InputStream(data: Data("streamed".utf8)) }
        let session = network.session(delegate: source)
        defer { session.invalidateAndCancel() }
        session.uploadTask(withStreamedRequest: URLRequest(network.url(), method: "POST")).resume()
        #expect(try await source.completion() == nil)
        #expect(source.record.value.asked == 1)
        #expect(!source.record.value.wasOffTheQueue)
        #expect(source.record.value.body == Data("streamed".utf8))
    }

    @Test("A class loads a streamed upload even if the delegate has no stream")
    func streamedUploadWithout() async throws {
        let network = MockNetwork { $0.answer($0.request.httpBodyStream == nil ? "none" : "some") }
        let source = StreamSource { _ in nil }
        let session = network.session(delegate: source)
        defer { session.invalidateAndCancel() }
        session.uploadTask(withStreamedRequest: URLRequest(network.url(), method: "POST")).resume()
        #expect(try await source.completion() == nil)
        #expect(source.record.value.body == Data("none".utf8))
    }

    @Test("The object has its task, whose current request is the object's")
    func task() async throws {
        let identifiers = Watched<[Int?]>([])
        let network = MockNetwork { load in
            identifiers.update { $0.append(load.task?.taskIdentifier) }
            load.answer("")
        }
        let delegate = RecordingDelegate()
        let session = network.session(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: network.url("/a"))
        task.resume()
        _ = try await delegate.completion(of: task)
        #expect(identifiers.value == [task.taskIdentifier])
        #expect(task.currentRequest?.url == network.url("/a"))
    }

    @Test("An error of URLSession's own kind arrives as it is: a program may compare it", arguments: [false, true])
    func unchangedError(isPlain: Bool) async throws {
        let sent = URLError(.timedOut, userInfo: ["a": "b"])
        let network = MockNetwork { load in
            load.fail(isPlain ? NSError(domain: NSURLErrorDomain, code: sent.errorCode, userInfo: sent.userInfo) : sent)
        }
        let session = network.session()
        defer { session.invalidateAndCancel() }
        let handled = await session.load(network.url()).error
        #expect(handled == sent && handled.map { $0 as NSError } == sent as NSError)
        let thrown = await #expect(throws: URLError.self) { try await session.data(from: network.url()) }
        #expect(thrown == sent && thrown.map { $0 as NSError } == sent as NSError)
    }

    @Test("A class's error is the task's, of whatever type", arguments: [0, 1, 2])
    func errors(kind: Int) async throws {
        struct Own: Error, Equatable { let number: Int }
        let network = MockNetwork { load in
            load.respond()
            switch kind {
            case 0: load.fail(Own(number: 7))
            case 1: load.fail(NSError(domain: "mine", code: 3))
            default: load.fail(NSError(domain: NSURLErrorDomain, code: NSURLErrorNotConnectedToInternet))
            }
        }
        let isOwn = { @Sendable (error: (any Error)?) -> Bool in
            switch kind {
            case 0: error as? Own == Own(number: 7)
            case 1: (error as NSError?)?.domain == "mine" && (error as NSError?)?.code == 3
            default: (error as? URLError)?.code == .notConnectedToInternet
            }
        }
        let delegate = Watched<[Bool]>([])
        final class Completion: NSObject, URLSessionTaskDelegate {
            let told: @Sendable (URLSessionTask, (any Error)?) -> Void
            init(_ told: @escaping @Sendable (URLSessionTask, (any Error)?) -> Void) { self.told = told }
            func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
                told(task, error)
            }
        }
        let session = network.session(
            delegate: Completion { task, error in delegate.update { $0 += [isOwn(error), isOwn(task.error)] } }
        )
        defer { session.invalidateAndCancel() }
        session.dataTask(with: network.url()).resume()
        try await delegate.wait { $0 == [true, true] }

        await #expect { try await session.data(from: network.url()) } throws: { isOwn($0) }
        await #expect { try await session.download(from: network.url()) } throws: { isOwn($0) }
        await #expect {
            let (bytes, _) = try await session.bytes(from: network.url())
            for try await _ in bytes {}
        } throws: {
            isOwn($0)
        }
        let handled = await withCheckedContinuation { continuation in
            session.dataTask(with: network.url()) { data, response, error in
                continuation.resume(returning: isOwn(error) && data == nil && response != nil)
            }.resume()
        }
        #expect(handled)
    }

    @Test("A request that no class takes goes to the network, with its cookies and its cache")
    func network() async throws {
        let network = Self.network()
        let server = try LoopbackServer { request in
            .text("real \(request.header("Cookie") ?? "")").header("Set-Cookie", "a=b")
        }
        defer { server.stop() }
        let session = network.session()
        defer { session.invalidateAndCancel() }
        #expect(await session.load(server.url("/")).text == "real ")
        #expect(await session.load(server.url("/")).text == "real a=b")
        #expect(await session.load(network.url()).text == "from you")
    }

    @Test("Classes see the stored cookies and the session's fields; a response's cookies are the class's business")
    func cookies() async throws {
        let network = MockNetwork { load in
            load.respond(200, ["Set-Cookie": "new=1"])
            load.finish()
        }
        let session = network.session { $0.httpAdditionalHeaders = ["X-Session": "yes", "Accept": "session"] }
        defer { session.invalidateAndCancel() }
        let cookie = try #require(
            HTTPCookie(properties: [.name: "old", .value: "1", .domain: network.host, .path: "/"])
        )
        let storage = try #require(session.configuration.httpCookieStorage)
        storage.setCookie(cookie)
        let request = URLRequest(network.url(), headers: ["Accept": "own", "Cookie": "own=2"])
        #expect(await session.load(request).error == nil)
        let seen = network.requests.value[0]
        #expect(seen.value(forHTTPHeaderField: "Cookie") == "own=2; old=1")
        #expect(seen.value(forHTTPHeaderField: "X-Session") == "yes")
        #expect(seen.value(forHTTPHeaderField: "Accept") == "own")
        #expect(storage.cookies(for: network.url())?.map(\.name) == ["old"])
        var without = request
        without.httpShouldHandleCookies = false
        #expect(await session.load(without).error == nil)
        #expect(network.requests.value[1].value(forHTTPHeaderField: "Cookie") == "own=2")
    }

    @Test("A class may decide by the session's fields, and a request that it declines is the task's own again")
    func fieldsOfDeclined() async throws {
        final class ByField: MockProtocol, @unchecked Sendable {
            override class func canInit(with request: URLRequest) -> Bool {
                request.value(forHTTPHeaderField: "X-Session") == "yes" && super.canInit(with: request)
            }
        }
        let network = Self.network()
        let server = try LoopbackServer { .text($0.header("X-Session") ?? "none") }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = network.session(delegate: delegate, classes: [ByField.self]) {
            $0.httpAdditionalHeaders = ["X-Session": "yes"]
        }
        defer { session.invalidateAndCancel() }
        #expect(await session.load(network.url()).text == "from you")
        let task = session.dataTask(with: server.url("/"))
        task.resume()
        #expect(try await delegate.completion(of: task) == nil)
        #expect(delegate.body(of: task) == Data("yes".utf8))
        #expect(task.currentRequest?.allHTTPHeaderFields ?? [:] == [:])
    }
}

extension URLRequest {
    /// The body, from wherever it comes.
    var allBody: Data {
        if let httpBody { return httpBody }
        guard let stream = httpBodyStream else { return Data() }
        stream.open()
        defer { stream.close() }
        var body = Data()
        var buffer = [UInt8](repeating: 0, count: 1000)
        while true {
            let count = stream.read(&buffer, maxLength: buffer.count)
            guard count > 0 else { return body }
            body += buffer[..<count]
        }
    }
}
