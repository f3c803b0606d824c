import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import CurlTransport
import TestSupport
import Testing

@Suite("HTTP proxies for http URLs", .timeLimit(.minutes(1)))
struct ProxyTests {
    @Test("A request goes to the proxy, with the whole URL as its target")
    func target() async throws {
        let proxy = try ScriptedProxy()
        defer { proxy.stop() }
        let session = URLSession.through(proxy.settings())
        defer { session.invalidateAndCancel() }
        let result = await session.load("http://user@a.example:81/path?query#fragment")
        #expect(result.text == "openly http://a.example:81/path?query")
        let request = try #require(proxy.server.requests.first)
        #expect(request.method == "GET" && request.header("Host") == "a.example:81")
        #expect(request.header("Proxy-Authorization") == nil)
    }

    @Test(
        "A proxy gets the URL as the program wrote it",
        arguments: ["/%C3%BC%e2%82%ac", "/a/../b/./c", "/%7euser?", "//double//slash/", "?q=%5b", "/p#%c3", ""]
    )
    func untouched(rest: String) async throws {
        let proxy = try ScriptedProxy()
        defer { proxy.stop() }
        let session = URLSession.through(proxy.settings())
        defer { session.invalidateAndCancel() }
        #expect(await session.load("http://A.example:81\(rest)").response?.statusCode == 200)
        let sent = rest.prefix { $0 != "#" }
        let target = "http://A.example:81\(sent.hasPrefix("/") ? "" : "/")\(sent)"
        #expect(proxy.server.requests.map(\.target) == [target])
    }

    // Later versions refuse to sign a path that is sent as it is (seen with 8.14).
    @Test(
        "A signature that libcurl makes is of the path, also if the host is an IPv6 address",
        .enabled(if: CurlLibrary.version < CurlVersion(8, 0))
    )
    func signature() async throws {
        let proxy = try ScriptedProxy()
        defer { proxy.stop() }
        let session = URLSession.through(proxy.settings()) {
            $0.curl.configureTransfer = { transfer, _ in try transfer.set("AWS_SIGV4", "aws:amz:us-east-1:s3") }
        }
        defer { session.invalidateAndCancel() }
        for path in ["/a", "/a", "/b"] {
            var request = URLRequest(try #require(URL(string: "http://user:password@[::1]\(path)")))
            request.setValue("20260101T000000Z", forHTTPHeaderField: "X-Amz-Date")
            #expect(await session.load(request).response?.statusCode == 200)
        }
        let signatures = proxy.server.requests.map { $0.header("Authorization") }
        #expect(signatures.count == 3 && signatures[0] != nil)
        #expect(signatures[0] == signatures[1] && signatures[0] != signatures[2])
    }

    @Test("Hosts share connections to a proxy, and each has its own limit")
    func connections() async throws {
        let gate = Gate()
        let proxy = try ScriptedProxy { $0.target.contains("slow") ? .text("slow").after([.waitFor(gate)]) : nil }
        defer { proxy.stop() }
        let session = URLSession.forTest {
            $0.curl.proxy = .server(proxy.settings())
            // Hosts of different loops share none.
            $0.curl.eventLoops = 1
            $0.httpMaximumConnectionsPerHost = 1
        }
        defer { session.invalidateAndCancel() }
        async let slow = session.load("http://slow.example/")
        try await proxy.server.waitForRequests(1)
        #expect(await session.load("http://a.example/").response?.statusCode == 200)
        let url = try #require(URL(string: "http://b.example/"))
        let metrics = try await MetricsTests.metrics(of: URLRequest(url: url), in: session)
        let transaction = try #require(metrics.transactionMetrics.first)
        #expect(transaction.isProxyConnection && transaction.isReusedConnection)
        #expect(transaction.remotePort == "\(proxy.server.port)")
        gate.open()
        let text = await slow.text
        #expect(text == "slow")
        #expect(proxy.server.connectionCount == 2)
    }

    @Test("Each request names its own host to the proxy, whatever hosts its connection was used for")
    func hostFields() async throws {
        let proxy = try ScriptedProxy()
        defer { proxy.stop() }
        let session = URLSession.through(proxy.settings()) { $0.curl.eventLoops = 1 }
        defer { session.invalidateAndCancel() }
        let hosts = ["[::1]:81", "A.example", "b.example:81", "[2001:db8::1]"]
        for host in hosts { #expect(await session.load("http://\(host)/").response?.statusCode == 200) }
        #expect(await session.load("http://user@c.example:80").response?.statusCode == 200)
        var request = URLRequest(url: try #require(URL(string: "http://[::1]/")))
        request.setValue("own.example", forHTTPHeaderField: "Host")
        #expect(await session.load(request).response?.statusCode == 200)
        #expect(proxy.server.requests.map { $0.header("Host") } == hosts + ["c.example", "own.example"])
        #expect(proxy.server.connectionCount == 1)
    }

    @Test("A proxy may be for some hosts only, and the metrics say so")
    func hosts() async throws {
        let proxy = try ScriptedProxy()
        defer { proxy.stop() }
        let rig = try Rig { _ in
            .text("directly")
        } configure: {
            $0.curl.hosts["*.example"].proxy = .server(proxy.settings())
        }
        defer { rig.stop() }
        #expect(await rig.session.load("http://a.example/").text == "openly http://a.example/")
        #expect(await rig.session.load(rig.url("/")).text == "directly")
        let metrics = try await MetricsTests.metrics(of: URLRequest(url: rig.url("/")), in: rig.session)
        #expect(metrics.transactionMetrics.map(\.isProxyConnection) == [false])
    }

    @Test("The configuration's dictionary names the proxy")
    func dictionary() async throws {
        let proxy = try ScriptedProxy.guarded()
        defer { proxy.stop() }
        let session = URLSession.forTest {
            $0.connectionProxyDictionary = [
                kCFNetworkProxiesHTTPEnable as String: 1, kCFNetworkProxiesHTTPProxy as String: "127.0.0.1",
                kCFNetworkProxiesHTTPPort as String: proxy.server.port, kCFProxyUsernameKey as String: "user",
                kCFProxyPasswordKey as String: "secret",
            ]
        }
        defer { session.invalidateAndCancel() }
        #expect(await session.load("http://a.example/").text == "openly http://a.example/")
    }

    @Test("A dictionary that makes no sense fails the task, and nothing goes out without a proxy")
    func unusable() async throws {
        let rig = try Rig { _ in
            .text("directly")
        } configure: {
            $0.connectionProxyDictionary = ["HTTPEnable": 1]
        }
        defer { rig.stop() }
        let error = try #require(await rig.session.load(rig.url("/")).error)
        #expect(error.code == .cannotConnectToHost && error.localizedDescription.contains("HTTPProxy"))
        #expect(rig.server.connectionCount == 0)
    }

    // MARK: - Failures

    @Test("A proxy that refuses connections is cannotConnectToHost")
    func unreachable() async throws {
        let settings = CurlOptions.ProxyServer(host: "127.0.0.1", port: try LoopbackServer.refusingPort())
        let session = URLSession.through(settings)
        defer { session.invalidateAndCancel() }
        let error = try #require(await session.load("http://a.example/").error)
        #expect(error.code == .cannotConnectToHost && error.curlCode == .couldntConnect)
        #expect(error.localizedDescription.contains("\(settings.port)"))
    }

    @Test("A proxy whose name can't be resolved is cannotFindHost")
    func unresolvable() async throws {
        let session = URLSession.through(CurlOptions.ProxyServer(host: "proxy.invalid", port: 3128))
        defer { session.invalidateAndCancel() }
        let error = try #require(await session.load("http://a.example/").error)
        #expect(error.code == .cannotFindHost && error.curlCode == .couldntResolveProxy)
        #expect(error.localizedDescription.contains("proxy.invalid"))
    }
}
