import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Host overrides", .timeLimit(.minutes(1)))
struct NamesTests {
    private func url(_ text: String) throws -> URL {
        try #require(URL(string: text))
    }

    @Test("A host with addresses of its own is not looked up, and stays the request's host")
    func addresses() async throws {
        let rig = try Rig { _ in
            .text("hello")
        } configure: {
            $0.curl.hosts["api.test"].names.addresses = ["127.0.0.1"]
        }
        defer { rig.stop() }
        let url = try url("http://API.test:\(rig.server.port)/a")
        let result = await rig.session.load(url)
        #expect(result.text == "hello")
        #expect(result.response?.url == url)
        #expect(rig.server.requests[0].header("Host")?.lowercased() == "api.test:\(rig.server.port)")
    }

    @Test(
        "A host's options count for its name with a dot at the end, and the other way round",
        arguments: ["api.test", "api.test."]
    )
    func dot(host: String) async throws {
        let rig = try Rig { _ in
            .text("hello")
        } configure: {
            $0.curl.hosts[host].names.addresses = ["127.0.0.1"]
        }
        defer { rig.stop() }
        for name in ["api.test", "api.test."] {
            let result = await rig.session.load(try url("http://\(name):\(rig.server.port)/"))
            #expect(result.text == "hello", "\(String(describing: result.error))")
        }
    }

    @Test("The next address is tried if nothing listens at the first")
    func severalAddresses() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        // The server is at 127.0.0.1 alone.
        let session = URLSession.forTest {
            $0.curl.hosts["*.test"].names.addresses = ["127.0.0.9", "127.0.0.1"]
        }
        defer { session.invalidateAndCancel() }
        let result = await session.load(try url("http://a.test:\(server.port)/"))
        #expect(result.text == "hello", "\(String(describing: result.error))")
    }

    @Test("An address that refuses the connection doesn't delay the next, however long connecting may take")
    func refusingAddresses() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let session = URLSession.forTest {
            // Much longer than the test may take: libcurl gives each address half of what is left.
            $0.timeoutIntervalForRequest = 600
            $0.curl.hosts["*.test"].names.addresses = ["127.0.0.9", "127.0.0.10", "127.0.0.11", "127.0.0.1"]
        }
        defer { session.invalidateAndCancel() }
        let result = await session.load(try url("http://a.test:\(server.port)/"))
        #expect(result.text == "hello", "\(String(describing: result.error))")
    }

    @Test("A host's own addresses never grow old, however many connections there are")
    func lasting() async throws {
        let rig = try Rig { _ in
            .text("hello").closing()
        } configure: {
            $0.curl.names.cacheLifetime = .zero
            $0.curl.hosts["api.test"].names.addresses = ["127.0.0.1"]
        }
        defer { rig.stop() }
        for _ in 0..<5 {
            #expect(await rig.session.load(try url("http://api.test:\(rig.server.port)/")).text == "hello")
        }
        #expect(rig.server.connectionCount == 5)
    }

    @Test("Each host and port can lead to a place of its own")
    func ports() async throws {
        let one = try LoopbackServer { _ in .text("one") }
        defer { one.stop() }
        let two = try LoopbackServer { _ in .text("two") }
        defer { two.stop() }
        let session = URLSession.forTest {
            $0.curl.hosts["api.test:80"].names.connectTo = .init("127.0.0.1", port: one.port)
            $0.curl.hosts["api.test:81"].names.connectTo = .init("back.test", port: two.port)
            $0.curl.hosts["back.test"].names.addresses = ["127.0.0.1"]
        }
        defer { session.invalidateAndCancel() }
        for _ in 0..<2 {
            #expect(await session.load(try url("http://api.test/")).text == "one")
            #expect(await session.load(try url("http://api.test:81/")).text == "two")
        }
        #expect(one.requests.map { $0.header("Host") } == ["api.test", "api.test"])
        #expect(two.requests.map { $0.header("Host") } == ["api.test:81", "api.test:81"])
        #expect(one.connectionCount == 1)
        #expect(two.connectionCount == 1)
    }

    @Test("Connecting to another port is no proxy to the metrics")
    func metrics() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        let rig = Rig(server) {
            $0.curl.hosts["api.test"].names.connectTo = .init("127.0.0.1", port: server.port)
        }
        defer { rig.stop() }
        let collector = MetricsCollector()
        _ = try await rig.session.data(from: url("http://api.test/"), delegate: collector)
        let transaction = try #require(collector.metrics.value?.transactionMetrics.first)
        #expect(!transaction.isProxyConnection)
        #expect(transaction.remotePort == "\(rig.server.port)")
    }

    @Test("The host that a redirect leads to has its own place")
    func redirect() async throws {
        let end = try LoopbackServer { _ in .text("end") }
        defer { end.stop() }
        let start = try LoopbackServer { _ in .redirect(to: "http://end.test/") }
        defer { start.stop() }
        let session = URLSession.forTest {
            $0.curl.hosts["start.test"].names.connectTo = .init("127.0.0.1", port: start.port)
            $0.curl.hosts["end.test"].names.connectTo = .init("127.0.0.1", port: end.port)
        }
        defer { session.invalidateAndCancel() }
        let result = await session.load(try url("http://start.test/"))
        #expect(result.text == "end")
        #expect(end.requests.first?.header("Host") == "end.test")
    }

    @Test("Addresses of the other version are not used")
    func ipVersion() async throws {
        let rig = try Rig { _ in
            .text("hello")
        } configure: {
            $0.curl.names.ipVersion = .v4
            $0.curl.hosts["*"].names.addresses = ["127.0.0.1"]
            $0.curl.hosts["six.test"].names.ipVersion = .v6
        }
        defer { rig.stop() }
        #expect(await rig.session.load(try url("http://four.test:\(rig.server.port)/")).text == "hello")
        let result = await rig.session.load(try url("http://six.test:\(rig.server.port)/"))
        #expect(result.text == nil)
        #expect(result.error != nil)
        #expect(rig.server.connectionCount == 1)
    }

    @Test("FTP servers are found in the same way")
    func ftp() async throws {
        let server = try ScriptedFTPServer(Data("hello".utf8))
        defer { server.stop() }
        let session = URLSession.forTest {
            $0.curl.hosts["files.test"].names.connectTo = .init("127.0.0.1", port: server.port)
        }
        defer { session.invalidateAndCancel() }
        let (data, _) = try await session.data(from: url("ftp://files.test/file"))
        #expect(data == Data("hello".utf8))
    }
}

/// Keeps a task's metrics.
final class MetricsCollector: NSObject, URLSessionTaskDelegate, Sendable {
    let metrics = Watched<URLSessionTaskMetrics?>(nil)

    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
        self.metrics.update { $0 = metrics }
    }
}
