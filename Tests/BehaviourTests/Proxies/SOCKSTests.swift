import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("SOCKS proxies", .timeLimit(.minutes(1)))
struct SOCKSTests {
    @Test(
        "dante serves requests over all versions of SOCKS",
        arguments: [CurlOptions.ProxyServer.Scheme.socks4, .socks5, .socks5h]
    )
    func dante(scheme: CurlOptions.ProxyServer.Scheme) async throws {
        let origin = try LoopbackServer { .text("\($0.method) \($0.target)") }
        defer { origin.stop() }
        let dante = try Dante.shared()
        let session = URLSession.through(dante.server(scheme))
        defer { session.invalidateAndCancel() }
        #expect(await session.load(origin.url("/1")).text == "GET /1")
        let metrics = try await MetricsTests.metrics(of: URLRequest(url: origin.url("/2")), in: session)
        let transaction = try #require(metrics.transactionMetrics.first)
        #expect(transaction.isProxyConnection && transaction.isReusedConnection)
        #expect(transaction.remotePort == "\(dante.port)")
        #expect(origin.connectionCount == 1)
    }

    @Test("FTP goes through a SOCKS proxy, with the connection for its data")
    func ftp() async throws {
        let vsftpd = try Vsftpd.shared()
        let name = UUID().uuidString
        try vsftpd.publish(name, Data("hello".utf8))
        let session = URLSession.through(try Dante.shared().server(.socks5))
        defer { session.invalidateAndCancel() }
        #expect(await session.load(vsftpd.url("/upload/\(name)")).text == "hello")
    }

    @Test("The dictionary's SOCKS proxy is used for https and http")
    func dictionary() async throws {
        let origin = try LoopbackServer { .text("\($0.method) \($0.target)") }
        defer { origin.stop() }
        let (dante, nginx) = (try Dante.shared(), try Nginx.shared())
        let session = URLSession.forTest {
            $0.connectionProxyDictionary = [
                kCFNetworkProxiesSOCKSEnable: true, kCFNetworkProxiesSOCKSProxy: "127.0.0.1",
                kCFNetworkProxiesSOCKSPort: dante.port,
            ]
        }
        defer { session.invalidateAndCancel() }
        #expect(await session.load(origin.url("/")).text == "GET /")
        // It has come as far as the server's certificate.
        #expect(await session.load(nginx.tls("/")).error?.curlCode == .peerFailedVerification)
    }

    @Test("A SOCKS proxy gets user name and password, and the task fails if they are wrong or missing")
    func credentials() async throws {
        let origin = try LoopbackServer { .text("\($0.method) \($0.target)") }
        defer { origin.stop() }
        let proxy = try Microsocks.shared()
        let session = URLSession.through(proxy.server())
        defer { session.invalidateAndCancel() }
        #expect(await session.load(origin.url("/")).text == "GET /")
        for server in [proxy.server(password: "wrong"), proxy.server(user: nil, password: nil)] {
            let session = URLSession.through(server)
            defer { session.invalidateAndCancel() }
            let error = await session.load(origin.url("/")).error
            #expect(error?.code == .userAuthenticationRequired && error?.curlCode == .proxy)
        }
        #expect(origin.requestCount == 1)
    }

    @Test("A host that the SOCKS proxy can't reach is cannotConnectToHost")
    func unreachable() async throws {
        let url = try #require(URL(string: "http://127.0.0.1:\(try LoopbackServer.refusingPort())/"))
        let session = URLSession.through(try Dante.shared().server(.socks5h))
        defer { session.invalidateAndCancel() }
        let error = await session.load(url).error
        #expect(error?.code == .cannotConnectToHost && error?.curlCode == .proxy)
    }

    @Test("An IPv6 address, which SOCKS 4 doesn't have, is cannotConnectToHost, and nothing is waited for")
    func version6() async throws {
        let proxy = try LoopbackServer { _ in .never }
        defer { proxy.stop() }
        let server = CurlOptions.ProxyServer(.socks4, host: "127.0.0.1", port: proxy.port)
        let session = URLSession.through(server) { $0.waitsForConnectivity = true }
        defer { session.invalidateAndCancel() }
        let error = await session.load("http://[::1]/").error
        #expect(error?.code == .cannotConnectToHost && error?.curlCode == .proxy)
        #expect(error?.localizedDescription.contains("SOCKS4") == true)
    }

    // MARK: - Byte by byte

    /// A proxy that says `replies` as soon as so many bytes have come, and what it heard.
    private static func scripted(
        _ replies: [(after: Int, bytes: Data)],
        heard: Watched<Data>
    ) throws -> LoopbackServer {
        try LoopbackServer(conversation: { _ in
            let next = Watched(0)
            return { event in
                guard case .received(let data) = event else { return [] }
                let count = heard.update { heard in
                    heard += data
                    return heard.count
                }
                return next.update { next in
                    var steps: [LoopbackServer.Step] = []
                    while next < replies.count, count >= replies[next].after {
                        steps.append(.bytes(replies[next].bytes))
                        next += 1
                    }
                    return steps
                }
            }
        })
    }

    private static let answer = Data("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".utf8)

    @Test("SOCKS 4a has the proxy look the name up")
    func version4a() async throws {
        let heard = Watched(Data())
        let opening = Data([4, 1, 0, 80, 0, 0, 0]) + Data([1]) + Data("me\0host.invalid\0".utf8)
        let proxy = try Self.scripted(
            [(opening.count, Data([0, 90, 0, 0, 0, 0, 0, 0])), (opening.count + 1, Self.answer)],
            heard: heard
        )
        defer { proxy.stop() }
        var server = CurlOptions.ProxyServer(.socks4a, host: "127.0.0.1", port: proxy.port)
        server.user = "me"
        let session = URLSession.through(server)
        defer { session.invalidateAndCancel() }
        #expect(await session.load("http://host.invalid/x").text == "ok")
        let bytes = heard.value
        // Any address of the form 0.0.0.x says that a name follows.
        #expect(bytes.prefix(7) == opening.prefix(7) && bytes[7] != 0)
        #expect(bytes[8..<opening.count] == opening[8...])
        #expect(
            String(decoding: bytes[opening.count...], as: UTF8.self).hasPrefix(
                "GET /x HTTP/1.1\r\nHost: host.invalid\r\n"
            )
        )
    }

    @Test("SOCKS 5 has the proxy look the name up, and gives it the credentials")
    func version5() async throws {
        let heard = Watched(Data())
        let login = Data([1, 4]) + Data("user".utf8) + Data([6]) + Data("secret".utf8)
        let request = Data([5, 1, 0, 3, 12]) + Data("host.invalid".utf8) + Data([0, 80])
        // How many methods libcurl offers depends on how it was built.
        let proxy = try LoopbackServer(conversation: { _ in
            let step = Watched(0)
            return { event in
                guard case .received(let data) = event else { return [] }
                heard.update { $0 += data }
                let replies = [
                    Data([5, 2]), Data([1, 0]), Data([5, 0, 0, 1, 127, 0, 0, 1, 0, 80]), Self.answer,
                ]
                return step.update { step in
                    defer { step += 1 }
                    return step < replies.count ? [.bytes(replies[step])] : []
                }
            }
        })
        defer { proxy.stop() }
        var server = CurlOptions.ProxyServer(.socks5h, host: "127.0.0.1", port: proxy.port)
        (server.user, server.password) = ("user", "secret")
        let session = URLSession.through(server)
        defer { session.invalidateAndCancel() }
        #expect(await session.load("http://host.invalid/x").text == "ok")
        let bytes = heard.value
        #expect(bytes.range(of: login + request) != nil)
        #expect(bytes.range(of: Data("GET /x HTTP/1.1\r\n".utf8)) != nil)
    }

    @Test(
        "A SOCKS 5 proxy is offered nothing but what was set: no Kerberos ticket of the process",
        arguments: [false, true]
    )
    func methods(hasCredentials: Bool) async throws {
        let heard = Watched(Data())
        let proxy = try Self.scripted([(2, Data([5, 0xff]))], heard: heard)
        defer { proxy.stop() }
        var server = CurlOptions.ProxyServer(.socks5h, host: "127.0.0.1", port: proxy.port)
        if hasCredentials { (server.user, server.password) = ("user", "secret") }
        let session = URLSession.through(server)
        defer { session.invalidateAndCancel() }
        #expect(await session.load("http://host.invalid/").error?.code == .userAuthenticationRequired)
        #expect(heard.value == (hasCredentials ? Data([5, 2, 0, 2]) : Data([5, 1, 0])))
    }

    @Test("A SOCKS proxy that doesn't find the host, refuses it, or hangs up fails the task", arguments: [4, 2, 5, -1])
    func refusals(reply: Int) async throws {
        let proxy = try LoopbackServer(conversation: { _ in
            let step = Watched(0)
            return { event in
                guard case .received = event else { return [] }
                return step.update { step in
                    step += 1
                    if step == 1 { return [.bytes(Data([5, 0]))] }
                    return reply < 0
                        ? [.close] : [.bytes(Data([5, UInt8(reply), 0, 1, 0, 0, 0, 0, 0, 0])), .close]
                }
            }
        })
        defer { proxy.stop() }
        let session = URLSession.through(CurlOptions.ProxyServer(.socks5h, host: "127.0.0.1", port: proxy.port))
        defer { session.invalidateAndCancel() }
        let error = await session.load("http://host.invalid/").error
        #expect(error?.code == (reply < 0 ? .networkConnectionLost : .cannotConnectToHost))
        #expect(error?.curlCode == .proxy)
    }
}
