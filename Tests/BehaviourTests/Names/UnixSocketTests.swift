import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Unix sockets", .timeLimit(.minutes(1)))
struct UnixSocketTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func path(_ name: String) -> String {
        directory.url.appendingPathComponent(name).path
    }

    private func server(
        _ name: String = "a b.sock",
        _ handler: @escaping LoopbackServer.Handler
    ) throws -> LoopbackServer {
        try LoopbackServer(unixSocket: .path(path(name)), handler)
    }

    @Test("A URL names the socket, and the server sees path, query and localhost")
    func url() async throws {
        let server = try server { _ in .text("hello") }
        defer { server.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let url = server.url("/a%2Fb?c=d")
        for _ in 0..<2 {
            let result = await session.load(url)
            #expect(result.text == "hello", "\(String(describing: result.error))")
            #expect(result.response?.url == url)
        }
        #expect(server.requests.map(\.target) == ["/a%2Fb?c=d", "/a%2Fb?c=d"])
        #expect(server.requests[0].header("Host") == "localhost")
        #expect(server.connectionCount == 1)
    }

    @Test("A URL can name an abstract socket")
    func abstract() async throws {
        let server = try LoopbackServer(unixSocket: .abstract("CurlNetworking \(UUID().uuidString)")) { _ in
            .text("hello")
        }
        defer { server.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        #expect(await session.load(server.url("/")).text == "hello")
    }

    @Test("Uploads, downloads and credentials go as they do over TCP")
    func allKinds() async throws {
        let server = try server { request in
            request.method == "PUT" ? .data(request.body) : .generated(length: 300_000, seed: 1)
        }
        defer { server.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let body = GeneratedBody.bytes(seed: 2, length: 200_000)
        let (echo, _) = try await session.upload(for: URLRequest(server.url("/"), method: "PUT"), from: body)
        #expect(echo == body)
        let text = server.url("/file").absoluteString
        let url = try #require(URL(string: text.replacingOccurrences(of: "://", with: "://user:secret@")))
        let (file, _) = try await session.download(from: url)
        defer { try? FileManager.default.removeItem(at: file) }
        #expect(try Data(contentsOf: file) == GeneratedBody.bytes(seed: 1, length: 300_000))
        let expected = "Basic " + Data("user:secret".utf8).base64EncodedString()
        #expect(server.requests.last?.header("Authorization") == expected)
    }

    @Test("Two sockets are two hosts even if their names are equal to Swift")
    func equivalentNames() async throws {
        let composed = try server("\u{E9}") { _ in .text("composed") }
        defer { composed.stop() }
        let decomposed = try server("e\u{301}") { _ in .text("decomposed") }
        defer { decomposed.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        #expect(await session.load(composed.url("/")).text == "composed")
        #expect(await session.load(decomposed.url("/")).text == "decomposed")
    }

    @Test("Two sockets are two hosts")
    func twoSockets() async throws {
        let gate = Gate()
        let one = try server("one") { _ in .text("one").after([.waitFor(gate)]) }
        defer { one.stop() }
        let two = try server("two") { _ in .text("two").after([.waitFor(gate)]) }
        defer { two.stop() }
        let session = URLSession.forTest { $0.useOneConnection() }
        defer { session.invalidateAndCancel() }
        async let first = session.load(one.url("/"))
        async let second = session.load(two.url("/"))
        try await one.waitForRequests(1)
        try await two.waitForRequests(1)
        gate.open()
        #expect(await first.text == "one")
        #expect(await second.text == "two")
    }

    @Test("nginx answers over a Unix socket as localhost, with TLS and without")
    func nginx() async throws {
        let nginx = try Nginx.shared()
        let authority = nginx.site.authority.path
        let session = URLSession.forTest {
            $0.curl.configureTransfer = { transfer, _ in try transfer.set("CAINFO", authority) }
        }
        defer { session.invalidateAndCancel() }
        let plain = await session.load(nginx.unix(NginxSite.mebibytePath))
        #expect(plain.data == NginxSite.mebibyte, "\(String(describing: plain.error)) \(nginx.complaints)")
        #expect(plain.response?.value(forHTTPHeaderField: "X-Host") == "localhost")
        #expect(plain.response?.value(forHTTPHeaderField: "X-Client")?.hasPrefix("unix:") == true)
        let secure = await session.load(nginx.unixTLS(NginxSite.smallPath))
        #expect(secure.text == NginxSite.smallText, "\(String(describing: secure.error)) \(nginx.complaints)")
        #expect(secure.response?.value(forHTTPHeaderField: "X-Protocol") == "HTTP/2.0")
        let untrusted = await URLSession.forTest().load(nginx.unixTLS(NginxSite.smallPath))
        #expect(untrusted.error?.code == .serverCertificateHasUnknownRoot)
    }

    @Test("A delegate is asked about TLS over a socket that is set for a host, and not over one that the URL names")
    func trust() async throws {
        let nginx = try Nginx.shared()
        let delegate = DecidingDelegate()
        let session = URLSession.forTest(delegate: delegate) {
            $0.curl.tls.trustRoots = [.file(nginx.site.authority)]
            $0.curl.hosts["localhost"].names.unixSocket = .path(nginx.site.tlsSocket.path)
        }
        defer { session.invalidateAndCancel() }
        #expect(await session.load(nginx.unixTLS(NginxSite.smallPath)).text == NginxSite.smallText)
        #expect(delegate.challenges.value.isEmpty)
        let ordinary = try #require(URL(string: "https://localhost" + NginxSite.smallPath))
        #expect(await session.load(ordinary).text == NginxSite.smallText)
        #expect(delegate.challenges.value.map(\.space.host) == ["localhost"])
    }

    @Test("A socket's challenge is answered as any other")
    func challenge() async throws {
        let nginx = try Nginx.shared()
        let delegate = DecidingDelegate(onChallenge: { $0.answer(.useCredential, .right()) })
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let (data, _) = try await session.data(from: nginx.unix("/private/small.txt"))
        #expect(data == Data(NginxSite.smallText.utf8))
        #expect(delegate.challenges.value.map(\.space.host) == [nginx.site.socket.path])
    }

    @Test("A proxy of the environment has no part in it")
    func proxy() async throws {
        let nginx = try Nginx.shared()
        let helper = try ChildProcess(
            [TestHelper.path(), "get", nginx.unix(NginxSite.smallPath).absoluteString],
            environment: ["http_proxy": "http://127.0.0.1:\(try LoopbackServer.refusingPort())"]
        )
        let answers = await helper.remainingLines()
        #expect(answers.count == 1)
        #expect(answers.first?.hasPrefix("200 HTTP/1.1 ") == true, "\(answers)")
    }

    // MARK: - By configuration

    @Test("A session's or a host's socket takes the requests, and the URL stays what it is")
    func configured() async throws {
        let all = try server("all") { _ in .text("all") }
        defer { all.stop() }
        let docker = try server("docker") { _ in .text("docker") }
        defer { docker.stop() }
        let session = URLSession.forTest {
            $0.curl.names.unixSocket = .path(path("all"))
            $0.curl.hosts["docker"].names.unixSocket = .path(path("docker"))
        }
        defer { session.invalidateAndCancel() }
        let url = try #require(URL(string: "http://docker:2375/v1.40/info"))
        let result = await session.load(url)
        #expect(result.text == "docker")
        #expect(result.response?.url == url)
        #expect(docker.requests[0].header("Host") == "docker:2375")
        #expect(await session.load(try #require(URL(string: "http://anything.test/"))).text == "all")
        // The URL's own comes first.
        #expect(await session.load(docker.url("/")).text == "docker")
    }

    @Test("A session's socket also takes what a class with a scheme of its own leads to")
    func redirectFromClass() async throws {
        let all = try server("all") { _ in .text("all") }
        defer { all.stop() }
        let network = MockNetwork { $0.redirect(to: URL(string: "http://anything.test/")) }
        let session = network.session { $0.curl.names.unixSocket = .path(path("all")) }
        defer { session.invalidateAndCancel() }
        #expect(await session.load(network.url(scheme: "own")).text == "all")
    }

    @Test("The metrics know of no proxy and no port")
    func metrics() async throws {
        let server = try server { _ in .text("hello") }
        defer { server.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let collector = MetricsCollector()
        _ = try await session.data(from: server.url("/"), delegate: collector)
        let transaction = try #require(collector.metrics.value?.transactionMetrics.first)
        #expect(!transaction.isProxyConnection)
        #expect(!transaction.isReusedConnection)
        #expect(transaction.remoteAddress == nil)
        #expect(transaction.remotePort == nil)
        #expect(transaction.networkProtocolName == "http/1.1")
    }

    // MARK: - Redirects

    @Test(
        "A server's redirect can't lead into a socket, neither from TCP nor from another socket",
        arguments: [false, true]
    )
    func redirectInto(isFromSocket: Bool) async throws {
        let inner = try server("inner") { _ in .text("secret") }
        defer { inner.stop() }
        let handler: LoopbackServer.Handler = { _ in .redirect(to: inner.url("/")) }
        let outer = isFromSocket ? try server("outer", handler) : try LoopbackServer(handler)
        defer { outer.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let result = await session.load(outer.url("/"))
        #expect(result.error?.code == .unsupportedURL)
        #expect(result.data == nil)
        #expect(inner.connectionCount == 0)
    }

    @Test("Redirects can't lead into a socket that is set for a host, but may stay within it")
    func redirectIntoConfigured() async throws {
        let inner = try server("inner") { request in
            request.path == "/" ? .redirect(to: "/secret") : .text("secret")
        }
        defer { inner.stop() }
        let outer = try LoopbackServer { _ in .redirect(to: "http://docker/secret") }
        defer { outer.stop() }
        let session = URLSession.forTest { $0.curl.hosts["docker"].names.unixSocket = .path(path("inner")) }
        defer { session.invalidateAndCancel() }
        let result = await session.load(outer.url("/"))
        #expect(result.error?.code == .unsupportedURL)
        #expect(result.data == nil)
        #expect(inner.connectionCount == 0)
        #expect(await session.load(try #require(URL(string: "http://docker/"))).text == "secret")
    }

    @Test(
        "A redirect may stay within a socket, by path and by the name that the server is told",
        arguments: ["", "http://localhost"]
    )
    func redirectWithin(prefix: String) async throws {
        let server = try server { request in
            request.path == "/" ? .redirect(to: prefix + "/next?a=b") : .text(request.target)
        }
        defer { server.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let request = URLRequest(server.url("/"), headers: ["Authorization": "secret"])
        let result = await session.load(request)
        #expect(result.text == "/next?a=b")
        #expect(result.response?.url == server.url("/next?a=b"))
        #expect(server.requests.map { $0.header("Authorization") } == ["secret", "secret"])
    }

    @Test("A redirect that leads out of a socket takes no credentials along")
    func redirectOut() async throws {
        let outer = try LoopbackServer { _ in .text("outside") }
        defer { outer.stop() }
        let inner = try server { _ in .redirect(to: outer.url("/")) }
        defer { inner.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let result = await session.load(URLRequest(inner.url("/"), headers: ["Authorization": "secret"]))
        #expect(result.text == "outside")
        #expect(outer.requests[0].header("Authorization") == nil)
    }

    // MARK: - State

    @Test("Cookies and cache have nothing to do with it")
    func state() async throws {
        let server = try server { _ in
            .text("hello").headers(["Set-Cookie": "a=b", "Cache-Control": "max-age=1000"])
        }
        defer { server.stop() }
        let configuration = URLSessionConfiguration.ephemeral
        let session = URLSession(configuration: configuration)
        defer { session.invalidateAndCancel() }
        for _ in 0..<2 { #expect(await session.load(server.url("/")).text == "hello") }
        #expect(server.requests.map { $0.header("Cookie") } == [nil, nil])
        #expect(configuration.httpCookieStorage?.cookies?.isEmpty == true)
        let request = URLRequest(url: server.url("/"), cachePolicy: .returnCacheDataDontLoad)
        #expect(await session.load(request).error?.code == .resourceUnavailable)
    }

    // MARK: - Errors

    @Test("A socket that isn't there is cannotConnectToHost")
    func nobody() async throws {
        let text = "http+unix://" + path("nobody").replacingOccurrences(of: "/", with: "%2F")
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let result = await session.load(try #require(URL(string: text)))
        #expect(result.error?.code == .cannotConnectToHost)
        #expect(result.error?.failingURL?.absoluteString == text)
    }

    @Test("The error about a socket that isn't there names the socket, and neither host nor port")
    func nobodyNamed() async throws {
        let (missing, abstract) = (path("nobody"), "CurlNetworking \(UUID().uuidString)")
        let named = [
            (CurlOptions.UnixSocket.path(missing), "\(missing): No such file or directory"),
            (.abstract(abstract), "@\(abstract): Connection refused"),
        ]
        for (socket, description) in named {
            let session = URLSession.forTest { $0.curl.names.unixSocket = socket }
            defer { session.invalidateAndCancel() }
            let error = await session.load(try #require(URL(string: "http://docker/info"))).error
            #expect(error?.localizedDescription == "Failed to connect to the Unix socket \(description)")
        }
    }

    @Test("The error about a socket for which there is no descriptor says so")
    func lackOfDescriptors() async throws {
        let servers = try ["first", "second"].map { name in try server(name) { _ in .text("hello") } }
        defer { for server in servers { server.stop() } }
        let helper = try ChildProcess([TestHelper.path(), "exhaust"] + servers.map { $0.url("/").absoluteString })
        let lines = await helper.remainingLines()
        #expect(lines.count == 2 && lines.last == "200 5")
        #expect(lines.first?.hasSuffix(" No socket could be opened: Too many open files.") == true)
    }

    @Test("A URL whose host is no socket is a bad one", arguments: ["localhost", "%2Fa:80", "%40", "a%2Fb"])
    func badURL(host: String) async throws {
        guard let url = URL(string: "http+unix://\(host)/") else { return }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        #expect(await session.load(url).error?.code == .badURL)
    }
}
