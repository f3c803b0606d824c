import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

/// What a stock class was asked and told, for one test's host.
private final class Observed: Sendable {
    let host = "\(UUID().uuidString.lowercased()).test"
    let requests = Watched<[URLRequest]>([])
    let tasks = Watched<[String]>([])
    let stops = Watched(0)
    let script: @Sendable (Stock) -> Void

    init(_ script: @escaping @Sendable (Stock) -> Void) {
        self.script = script
        Self.all.update { $0[host] = self }
    }

    private static let all = Watched<[String: Observed]>([:])

    static func of(_ request: URLRequest?) -> Observed? {
        request?.url?.host.flatMap { host in all.value[host] }
    }

    func url(_ path: String = "/") -> URL {
        URL(string: "http://\(host)\(path)") ?? URL(fileURLWithPath: path)
    }

    func session(
        delegate: (any URLSessionDelegate)? = nil,
        _ configure: (URLSessionConfiguration) -> Void = { _ in }
    ) -> URLSession {
        URLSession.forTest(delegate: delegate) { configuration in
            configuration.protocolClasses = [Stock.self]
            configure(configuration)
        }
    }
}

/// A class as a library has it that was written for the stock module.
private class Stock: FoundationNetworking.URLProtocol {
    override class func canInit(with request: URLRequest) -> Bool { Observed.of(request) != nil }

    override func startLoading() {
        guard let observed = Observed.of(request) else { return }
        observed.requests.update { $0.append(request) }
        observed.tasks.update { $0.append(task.map { "\(type(of: $0)) \($0.taskIdentifier)" } ?? "none") }
        observed.script(self)
    }

    override func stopLoading() {
        Observed.of(request)?.stops.update { $0 += 1 }
    }

    func response(_ status: Int = 200, _ fields: [String: String] = [:]) -> HTTPURLResponse? {
        request.url.flatMap {
            HTTPURLResponse(url: $0, statusCode: status, httpVersion: "HTTP/1.1", headerFields: fields)
        }
    }

    func answer(_ text: String, status: Int = 200, storage: URLCache.StoragePolicy = .notAllowed) {
        guard let response = response(status) else { return }
        client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: storage)
        client?.urlProtocol(self, didLoad: Data(text.utf8))
        client?.urlProtocolDidFinishLoading(self)
    }
}

/// A class that implements only what the stock module calls: the rest of what it inherits traps.
private final class Least: FoundationNetworking.URLProtocol {
    override class func canInit(with request: URLRequest) -> Bool { request.url?.host == "least.test" }

    override func startLoading() {
        guard let url = request.url else { return }
        let response = URLResponse(url: url, mimeType: nil, expectedContentLength: -1, textEncodingName: nil)
        client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
        client?.urlProtocol(self, didLoad: Data("least".utf8))
        client?.urlProtocolDidFinishLoading(self)
    }
}

@Suite("A protocol class of the stock module's", .timeLimit(.minutes(1)))
struct StockProtocolTests {
    @Test("A stock protocol class answers tasks of every kind")
    func answers() async throws {
        let observed = Observed { $0.answer("from stock") }
        let session = observed.session()
        defer { session.invalidateAndCancel() }
        #expect(await session.load(observed.url()).text == "from stock")
        let (data, response) = try await session.data(from: observed.url())
        #expect(data == Data("from stock".utf8))
        #expect((response as? HTTPURLResponse)?.statusCode == 200)
        let (file, _) = try await session.download(from: observed.url())
        defer { try? FileManager.default.removeItem(at: file) }
        #expect(try Data(contentsOf: file) == Data("from stock".utf8))
        let (bytes, _) = try await session.bytes(from: observed.url())
        var lines: [String] = []
        for try await line in bytes.lines { lines.append(line) }
        #expect(lines == ["from stock"])
    }

    @Test("Only requests that the stock class doesn't take reach the network")
    func network() async throws {
        final class Port: FoundationNetworking.URLProtocol {
            override class func canInit(with request: URLRequest) -> Bool { request.url?.path == "/mocked" }
            override func startLoading() { client?.urlProtocol(self, didFailWithError: URLError(.badServerResponse)) }
            override func stopLoading() {}
        }
        let rig = try Rig { _ in
            .text("real")
        } configure: {
            $0.protocolClasses = [Port.self]
        }
        defer { rig.stop() }
        #expect(await rig.session.load(rig.url("/mocked")).error?.code == .badServerResponse)
        #expect(rig.server.requestCount == 0)
        #expect(await rig.session.load(rig.url("/other")).text == "real")
    }

    @Test("A stock class may lack the methods that the stock module never calls")
    func least() async throws {
        let session = URLSession.forTest { $0.protocolClasses = [Least.self] }
        defer { session.invalidateAndCancel() }
        let (data, _) = try await session.data(from: try #require(URL(string: "http://least.test/")))
        #expect(data == Data("least".utf8))
    }

    @Test("A stock class is told to stop when its task ends before it does, and not after its own end")
    func stops() async throws {
        let observed = Observed { load in if load.request.url?.path == "/answered" { load.answer("") } }
        let delegate = RecordingDelegate()
        let session = observed.session(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let answered = session.dataTask(with: observed.url("/answered"))
        answered.resume()
        #expect(try await delegate.completion(of: answered) == nil)
        let cancelled = session.dataTask(with: observed.url("/silent"))
        cancelled.resume()
        try await observed.requests.wait { $0.count == 2 }
        cancelled.cancel()
        #expect(try await delegate.completion(of: cancelled)?.code == .cancelled)
        try await observed.stops.wait { $0 == 1 }
    }

    @Test("A stock class's object has a task of the right kind, which passes on a cancellation")
    func tasks() async throws {
        let observed = Observed { load in
            if load.request.url?.path == "/cancel" { load.task?.cancel() } else { load.answer("") }
        }
        let session = observed.session()
        defer { session.invalidateAndCancel() }
        _ = try await session.data(from: observed.url())
        _ = try await session.upload(for: URLRequest(observed.url(), method: "PUT"), from: Data("a".utf8))
        let (file, _) = try await session.download(from: observed.url())
        try FileManager.default.removeItem(at: file)
        let kinds = observed.tasks.value.map { $0.split(separator: " ").first ?? "" }
        #expect(kinds == ["StandInDataTask", "StandInUploadTask", "StandInDownloadTask"])
        #expect(Set(observed.tasks.value.map { $0.split(separator: " ").last }).count == 3)
        #expect(await session.load(observed.url("/cancel")).error?.code == .cancelled)
    }

    @Test("A stock class may decide by the task")
    func decidesByTask() async throws {
        final class ByTask: FoundationNetworking.URLProtocol {
            override class func canInit(with task: FoundationNetworking.URLSessionTask) -> Bool {
                task is FoundationNetworking.URLSessionDownloadTask && task.currentRequest?.url?.host == "by-task.test"
                    && task.state == .running
            }
            override func startLoading() {
                guard let url = request.url else { return }
                let response = URLResponse(url: url, mimeType: nil, expectedContentLength: 0, textEncodingName: nil)
                client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
                client?.urlProtocolDidFinishLoading(self)
            }
        }
        let session = URLSession.forTest { $0.protocolClasses = [ByTask.self] }
        defer { session.invalidateAndCancel() }
        let (file, response) = try await session.download(from: try #require(URL(string: "own://by-task.test/")))
        try FileManager.default.removeItem(at: file)
        #expect(response.url?.host == "by-task.test")
        #expect(await session.load(try #require(URL(string: "own://by-task.test/"))).error?.code == .unsupportedURL)
    }

    @Test("A stock class sees an upload's body, the session's fields and the stored cookies")
    func request() async throws {
        let observed = Observed { load in load.answer(String(decoding: load.request.httpBody ?? Data(), as: UTF8.self))
        }
        let session = observed.session { $0.httpAdditionalHeaders = ["X-Session": "yes"] }
        defer { session.invalidateAndCancel() }
        let cookie = try #require(
            HTTPCookie(properties: [.name: "name", .value: "value", .domain: observed.host, .path: "/"])
        )
        session.configuration.httpCookieStorage?.setCookie(cookie)
        let (data, _) = try await session.upload(
            for: URLRequest(observed.url(), method: "PUT"),
            from: Data("body".utf8)
        )
        #expect(data == Data("body".utf8))
        #expect(observed.requests.value.map { $0.value(forHTTPHeaderField: "X-Session") } == ["yes"])
        #expect(observed.requests.value.map { $0.value(forHTTPHeaderField: "Cookie") } == ["name=value"])
    }

    @Test("A stock class's redirects are followed, its errors are the task's own, and its responses are cached")
    func reports() async throws {
        struct Own: Error {}
        let observed = Observed { load in
            switch load.request.url?.path {
            case "/from":
                guard let response = load.response(302), let target = URL(string: "/to", relativeTo: response.url)
                else { return }
                load.client?.urlProtocol(
                    load,
                    wasRedirectedTo: URLRequest(url: target.absoluteURL),
                    redirectResponse: response
                )
            case "/error": load.client?.urlProtocol(load, didFailWithError: Own())
            case "/cached":
                if let cached = load.cachedResponse {
                    load.client?.urlProtocol(load, cachedResponseIsValid: cached)
                    load.client?.urlProtocolDidFinishLoading(load)
                } else {
                    load.answer("stored", storage: .allowed)
                }
            default: load.answer("arrived")
            }
        }
        let session = observed.session()
        defer { session.invalidateAndCancel() }
        let (data, response) = try await session.data(from: observed.url("/from"))
        #expect(data == Data("arrived".utf8))
        #expect(response.url == observed.url("/to"))
        await #expect(throws: Own.self) { try await session.data(from: observed.url("/error")) }
        #expect(await session.load(observed.url("/cached")).text == "stored")
        #expect(await session.load(observed.url("/cached")).text == "stored")
    }

    @Test("A stock class's challenges are put to the delegate, and their sender gets the answer")
    func challenges() async throws {
        final class Sender: NSObject, URLAuthenticationChallengeSender, @unchecked Sendable {
            // @unchecked: never changes.
            let load: Stock
            init(_ load: Stock) { self.load = load }
            func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge) {
                load.answer(credential.user ?? "")
            }
            func continueWithoutCredential(for challenge: URLAuthenticationChallenge) {}
            func cancel(_ challenge: URLAuthenticationChallenge) {}
            func performDefaultHandling(for challenge: URLAuthenticationChallenge) {}
            func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge) {}
        }
        let observed = Observed { load in
            let space = URLProtectionSpace(
                host: "stock",
                port: 80,
                protocol: "http",
                realm: "here",
                authenticationMethod: NSURLAuthenticationMethodHTTPBasic
            )
            let challenge = URLAuthenticationChallenge(
                protectionSpace: space,
                proposedCredential: nil,
                previousFailureCount: 0,
                failureResponse: nil,
                error: nil,
                sender: Sender(load)
            )
            load.client?.urlProtocol(load, didReceive: challenge)
        }
        let delegate = DecidingDelegate(onChallenge: {
            $0.answer(.useCredential, URLCredential(user: "somebody", password: "secret", persistence: .none))
        })
        let session = observed.session(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: observed.url())
        task.resume()
        #expect(try await delegate.completion(of: task) == nil)
        #expect(delegate.body(of: task) == Data("somebody".utf8))
    }

    @Test("A stock class can be registered with the shared session")
    func registered() async throws {
        let observed = Observed { $0.answer("from stock") }
        #expect(URLProtocol.registerClass(Stock.self))
        #expect(await URLSession.shared.load(observed.url()).text == "from stock")
        URLProtocol.unregisterClass(Stock.self)
    }

    @Test("The stock module's own classes stand for the network")
    func builtIn() async throws {
        let server = try LoopbackServer { _ in .text("real") }
        defer { server.stop() }
        let observed = Observed { $0.answer("from stock") }
        let builtIn = try #require(FoundationNetworking.URLSessionConfiguration.default.protocolClasses)
        #expect(!builtIn.isEmpty)
        let session = observed.session { $0.protocolClasses = builtIn + [Stock.self] }
        defer { session.invalidateAndCancel() }
        #expect(await session.load(server.url("/")).text == "real")
        #expect(await session.load(observed.url()).text == "from stock")
    }

    @Test("A class that is no protocol class fails what comes to it, and nothing goes to the network")
    func unusable() async throws {
        let server = try LoopbackServer { _ in .text("real") }
        defer { server.stop() }
        let observed = Observed { $0.answer("from stock") }
        let session = observed.session { $0.protocolClasses = [Stock.self, NSObject.self] }
        defer { session.invalidateAndCancel() }
        #expect(await session.load(observed.url()).text == "from stock")
        let error = await session.load(server.url("/")).error
        #expect(error?.code == .unsupportedURL)
        #expect(error?.localizedDescription == "NSObject in protocolClasses isn't a subclass of URLProtocol.")
        #expect(server.requestCount == 0)
    }
}
