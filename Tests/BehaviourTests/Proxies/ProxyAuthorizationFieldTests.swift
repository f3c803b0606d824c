import CurlNetworking
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
