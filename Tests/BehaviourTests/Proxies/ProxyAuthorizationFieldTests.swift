import CurlNetworking
import CurlTransport
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("A Proxy-Authorization field set by hand", .timeLimit(.minutes(1)))
struct ProxyAuthorizationFieldTests {
    enum Place: Sendable, CaseIterable { case request, session }

    private static let token = "Basic mine"

    private static func request(_ url: URL, _ place: Place) -> URLRequest {
        URLRequest(url, headers: place == .request ? ["proxy-AUTHORIZATION": token] : [:])
    }

    private static func set(_ place: Place, in configuration: URLSessionConfiguration) {
        if place == .session { configuration.httpAdditionalHeaders = ["Proxy-Authorization": token] }
    }

    @Test("No server sees the field without a proxy, nor does a server that it redirects to", arguments: Place.allCases)
    func direct(place: Place) async throws {
        let rig = try Rig {
            $0.path == "/" ? .redirect(to: "/there") : .text("fine")
        } configure: {
            Self.set(place, in: $0)
        }
        defer { rig.stop() }
        #expect(await rig.session.load(Self.request(rig.url("/"), place)).text == "fine")
        #expect(rig.server.requests.map { $0.header("Proxy-Authorization") } == [nil, nil])
    }

    @Test("An HTTP proxy that sees the request sees the field", arguments: Place.allCases)
    func openly(place: Place) async throws {
        let proxy = try ScriptedProxy()
        defer { proxy.stop() }
        let session = URLSession.through(proxy.settings()) { Self.set(place, in: $0) }
        defer { session.invalidateAndCancel() }
        let url = try #require(URL(string: "http://a.example/"))
        #expect(await session.load(Self.request(url, place)).text == "openly http://a.example/")
        #expect(proxy.shown == [Self.token])
    }

    @Test("With a tunnel the proxy sees the field, and the server doesn't", arguments: Place.allCases)
    func tunnel(place: Place) async throws {
        let proxy = try ScriptedProxy()
        defer { proxy.stop() }
        let session = URLSession.through(proxy.settings(tunnel: true)) { Self.set(place, in: $0) }
        defer { session.invalidateAndCancel() }
        let url = try #require(URL(string: "http://a.example/"))
        #expect(await session.load(Self.request(url, place)).text == "through")
        #expect(proxy.shown == [Self.token])
        #expect(proxy.tunnelled.value.count == 1)
        #expect(!proxy.tunnelled.value[0].lowercased().contains("proxy-authorization"))
    }

    /// Debian 12's libcurl has the fix, which others have since 8.19.
    private static let comparesCredentials =
        CurlLibrary.version < CurlVersion(8, 0) || CurlLibrary.version >= CurlVersion(8, 19)

    @Test(
        "A tunnel is shared by requests with the same field, and by no others",
        .enabled(if: comparesCredentials, "This libcurl may share tunnels, whatever the credentials (CVE-2026-3784).")
    )
    func tunnels() async throws {
        let proxy = try ScriptedProxy()
        defer { proxy.stop() }
        let session = URLSession.through(proxy.settings(tunnel: true))
        defer { session.invalidateAndCancel() }
        let url = try #require(URL(string: "http://a.example/"))
        let fields = ["Bearer one", "Bearer two", nil]
        for field in fields + fields {
            var request = URLRequest(url: url)
            request.setValue(field, forHTTPHeaderField: "Proxy-Authorization")
            #expect(await session.load(request).text == "through")
        }
        #expect(proxy.shown == fields)
    }

    @Test("A field that the proxy refuses is the end of it, or put to the delegate, and nothing is made of it")
    func refused() async throws {
        let proxy = try ScriptedProxy.guarded()
        defer { proxy.stop() }
        let url = try #require(URL(string: "http://a.example/"))
        var request = URLRequest(url: url)
        request.setValue("Bearer wrong", forHTTPHeaderField: "Proxy-Authorization")
        let alone = URLSession.through(proxy.settings(tunnel: true))
        defer { alone.invalidateAndCancel() }
        #expect(await alone.load(request).error?.proxyStatus == 407)
        #expect(proxy.shown == ["Bearer wrong"])
        let delegate = DecidingDelegate(onChallenge: { $0.answer(.useCredential, .right()) })
        let asking = URLSession.through(proxy.settings(tunnel: true), delegate: delegate)
        defer { asking.invalidateAndCancel() }
        #expect(await asking.load(request).text == "through")
        #expect(proxy.shown == ["Bearer wrong", "Bearer wrong", Guard.token()])
    }

    @Test("A host that is excepted from the proxy doesn't see the field", arguments: Place.allCases)
    func exception(place: Place) async throws {
        let server = try LoopbackServer { _ in .text("directly") }
        defer { server.stop() }
        let proxy = try ScriptedProxy()
        defer { proxy.stop() }
        var settings = proxy.settings()
        settings.exceptions = ["127.0.0.1"]
        let session = URLSession.through(settings) { Self.set(place, in: $0) }
        defer { session.invalidateAndCancel() }
        #expect(await session.load(Self.request(server.url("/"), place)).text == "directly")
        #expect(server.requests.map { $0.header("Proxy-Authorization") } == [nil])
    }

    @Test("No server sees the field through a SOCKS proxy", arguments: Place.allCases)
    func socks(place: Place) async throws {
        let server = try LoopbackServer { _ in .text("fine") }
        defer { server.stop() }
        let session = try URLSession.through(Dante.shared().server(.socks5)) { Self.set(place, in: $0) }
        defer { session.invalidateAndCancel() }
        #expect(await session.load(Self.request(server.url("/"), place)).text == "fine")
        #expect(server.requests.map { $0.header("Proxy-Authorization") } == [nil])
    }
}
