import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Which protocol class loads a request", .timeLimit(.minutes(1)))
struct ProtocolChoiceTests {
    /// Takes what `MockProtocol` takes, and says its name.
    private class Named: MockProtocol, @unchecked Sendable {
        class var name: String { "" }
        override func startLoading() { answer(Self.name) }
    }

    private final class First: Named, @unchecked Sendable {
        override class var name: String { "first" }
        override class func canInit(with request: URLRequest) -> Bool {
            request.url?.path != "/second" && super.canInit(with: request)
        }
    }

    private final class Second: Named, @unchecked Sendable {
        override class var name: String { "second" }
    }

    /// Decides by the task.
    private final class ByTask: Named, @unchecked Sendable {
        override class var name: String { "by task" }
        override class func canInit(with request: URLRequest) -> Bool { false }
        override class func canInit(with task: URLSessionTask) -> Bool {
            task is URLSessionDownloadTask && task.currentRequest.map { super.canInit(with: $0) } ?? false
        }
    }

    private final class Canonical: MockProtocol, @unchecked Sendable {
        override class func canonicalRequest(for request: URLRequest) -> URLRequest {
            var request = request
            request.url = request.url.flatMap { URL(string: $0.absoluteString.lowercased()) }
            request.setValue("yes", forHTTPHeaderField: "X-Canonical")
            return request
        }
    }

    private func text(_ session: URLSession, _ url: URL) async -> String? { await session.load(url).text }

    @Test("The first class in the configuration's order that takes a request loads it")
    func order() async throws {
        let network = MockNetwork { $0.answer("mock") }
        let session = network.session(classes: [First.self, Second.self, MockProtocol.self])
        defer { session.invalidateAndCancel() }
        #expect(await text(session, network.url("/a")) == "first")
        #expect(await text(session, network.url("/second")) == "second")
        let reversed = network.session(classes: [MockProtocol.self, First.self])
        defer { reversed.invalidateAndCancel() }
        #expect(await text(reversed, network.url("/a")) == "mock")
    }

    @Test(
        "Classes come before what is built in, whatever the scheme",
        arguments: ["https", "ftp", "file", "data", "own"]
    )
    func schemes(scheme: String) async throws {
        let network = MockNetwork { $0.answer("mock") }
        let session = network.session()
        defer { session.invalidateAndCancel() }
        let (data, response) = try await session.data(from: network.url("/a", scheme: scheme))
        #expect(data == Data("mock".utf8))
        #expect(response.url?.scheme == scheme)
    }

    @Test("A class may decide by the task")
    func byTask() async throws {
        let network = MockNetwork { $0.answer("mock") }
        let session = network.session(classes: [ByTask.self, MockProtocol.self])
        defer { session.invalidateAndCancel() }
        #expect(await text(session, network.url()) == "mock")
        let (file, _) = try await session.download(from: network.url())
        defer { try? FileManager.default.removeItem(at: file) }
        #expect(try Data(contentsOf: file) == Data("by task".utf8))
    }

    @Test("The object and the task have the canonical request, and the task's original request stays")
    func canonical() async throws {
        let network = MockNetwork { $0.answer("mock") }
        let delegate = RecordingDelegate()
        let session = network.session(delegate: delegate, classes: [Canonical.self])
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: network.url("/A/B"))
        task.resume()
        _ = try await delegate.completion(of: task)
        #expect(network.requests.value.map(\.url) == [network.url("/a/b")])
        #expect(network.requests.value[0].value(forHTTPHeaderField: "X-Canonical") == "yes")
        #expect(task.currentRequest?.url == network.url("/a/b"))
        #expect(task.originalRequest?.url == network.url("/A/B"))
    }

    @Test("Registered classes come first in the shared session at once, the last first, and in no other session")
    func registration() async throws {
        let network = MockNetwork { $0.answer("mock") }
        #expect(URLProtocol.registerClass(MockProtocol.self))
        URLProtocol.registerClass(First.self)
        #expect(!URLProtocol.registerClass(NSObject.self))
        defer {
            URLProtocol.unregisterClass(MockProtocol.self)
            URLProtocol.unregisterClass(First.self)
        }
        #expect(await text(.shared, network.url("/a")) == "first")
        #expect(await text(.shared, network.url("/second")) == "mock")
        for configuration in [URLSessionConfiguration.default, .ephemeral] {
            #expect(configuration.protocolClasses?.isEmpty ?? false)
            let session = URLSession(configuration: configuration)
            defer { session.invalidateAndCancel() }
            #expect(await text(session, network.url(scheme: "own")) == nil)
        }
        URLProtocol.unregisterClass(First.self)
        #expect(await text(.shared, network.url("/a")) == "mock")
        URLProtocol.unregisterClass(MockProtocol.self)
        #expect(await text(.shared, network.url(scheme: "own")) == nil)
    }

    @Test("Classes aren't asked about stream tasks")
    func streamTask() async throws {
        final class Greedy: MockProtocol, @unchecked Sendable {
            static let asked = Watched(0)
            override class func canInit(with request: URLRequest) -> Bool {
                asked.update { $0 += 1 }
                return true
            }
        }
        let server = try LoopbackServer { _ in
            { event in if case .received(let data) = event { [.bytes(data)] } else { [] } }
        }
        defer { server.stop() }
        let session = URLSession.forTest { $0.protocolClasses = [Greedy.self] }
        defer { session.invalidateAndCancel() }
        let task = session.streamTask(withHostName: "127.0.0.1", port: server.port)
        task.resume()
        try await task.write(Data("hello".utf8), timeout: 0)
        #expect(try await task.readData(ofMinLength: 5, maxLength: 5, timeout: 0).0 == Data("hello".utf8))
        #expect(Greedy.asked.value == 0)
    }

    @Test("Without classes a session asks none")
    func none() async throws {
        let network = MockNetwork { $0.answer("mock") }
        let session = network.session(classes: [])
        defer { session.invalidateAndCancel() }
        #expect(await session.load(network.url(scheme: "own")).error?.code == .unsupportedURL)
        #expect(network.requests.value.isEmpty)
    }

    @Test("Properties stay with their request, and don't go out")
    func properties() async throws {
        let server = try LoopbackServer { _ in .text("fine") }
        defer { server.stop() }
        let mutable = NSMutableURLRequest(url: server.url("/"))
        URLProtocol.setProperty("one", forKey: "first", in: mutable)
        URLProtocol.setProperty(2, forKey: "second", in: mutable)
        var request = mutable as URLRequest
        #expect(URLProtocol.property(forKey: "first", in: request) as? String == "one")
        #expect(URLProtocol.property(forKey: "second", in: request) as? Int == 2)
        #expect(URLProtocol.property(forKey: "third", in: request) == nil)
        request.setValue("changed", forHTTPHeaderField: "X-Field")
        #expect(URLProtocol.property(forKey: "first", in: request) as? String == "one")
        URLProtocol.removeProperty(forKey: "first", in: mutable)
        #expect(URLProtocol.property(forKey: "first", in: mutable as URLRequest) == nil)
        #expect(URLProtocol.property(forKey: "first", in: request) as? String == "one", "a copy is a copy")

        // What no property list can hold stays with its object, as in the stock module.
        URLProtocol.setProperty(NSObject(), forKey: "object", in: mutable)
        #expect(URLProtocol.property(forKey: "object", in: mutable as URLRequest) == nil)
        // Read back from the field, it would take the others with it.
        let deep = (0..<600).reduce(1 as Any) { value, _ in [value] }
        URLProtocol.setProperty(deep, forKey: "deep", in: mutable)
        #expect(URLProtocol.property(forKey: "deep", in: mutable as URLRequest) == nil)
        #expect(URLProtocol.property(forKey: "second", in: mutable as URLRequest) as? Int == 2)
        URLProtocol.removeProperty(forKey: "deep", in: mutable)
        // The last one's field goes with it.
        URLProtocol.removeProperty(forKey: "second", in: mutable)
        #expect(mutable.allHTTPHeaderFields ?? [:] == [:])

        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: request) { _, _, _ in }
        #expect(task.originalRequest.flatMap { URLProtocol.property(forKey: "first", in: $0) } as? String == "one")
        #expect(await session.load(request).text == "fine")
        #expect(server.requests[0].headers.allSatisfy { !$0.name.contains("Properties") })
        #expect(server.requests[0].header("X-Field") == "changed")
    }

    /// The usual way to load through a session within a class without meeting oneself.
    private final class Wrapper: URLProtocol, @unchecked Sendable {
        // @unchecked: set once, on the queue that also reads it.
        private var inner: URLSessionDataTask?
        static let key = "Wrapper.handled"

        override class func canInit(with request: URLRequest) -> Bool { property(forKey: key, in: request) == nil }

        override func startLoading() {
            guard let mutable = (request as NSURLRequest).mutableCopy() as? NSMutableURLRequest else { return }
            Self.setProperty(true, forKey: Self.key, in: mutable)
            inner = Self.session.dataTask(with: mutable as URLRequest) { data, response, error in
                if let error { self.client?.urlProtocol(self, didFailWithError: error) }
                guard let response, let data else { return }
                self.client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
                self.client?.urlProtocol(self, didLoad: Data("wrapped ".utf8) + data)
                self.client?.urlProtocolDidFinishLoading(self)
            }
            inner?.resume()
        }

        override func stopLoading() { inner?.cancel() }

        /// Asks the same class, which doesn't take what it has marked.
        private static let session = makeSession()

        static func makeSession() -> URLSession { URLSession.forTest { $0.protocolClasses = [Wrapper.self] } }
    }

    @Test("A class that marks its requests can load them itself")
    func wrapping() async throws {
        let server = try LoopbackServer { _ in .text("fine") }
        defer { server.stop() }
        let session = Wrapper.makeSession()
        defer { session.invalidateAndCancel() }
        #expect(await text(session, server.url("/")) == "wrapped fine")
        #expect(server.requestCount == 1)
    }
}
