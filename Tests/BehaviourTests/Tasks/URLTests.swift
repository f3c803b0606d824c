import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("URLs on the wire", .timeLimit(.minutes(1)))
struct URLTests {
    @Test(
        "Percent-encodings, dot segments, empty segments and queries are passed through untouched",
        arguments: [
            "/a%2Fb%20c", "/%C3%BC%e2%82%ac", "/a/../b/./c", "/..", "//double//slash/", "/a;b=c/d",
            "/?x=%3D&y=%26+z&empty=", "/path?a/b?c", "/%7euser/~user", "/a|b?q=%5B1%5D", "/?", "/p?q=a%0D%0Ab",
            "/p?q=%c3%bc",
        ]
    )
    func untouched(target: String) async throws {
        let rig = try Rig { _ in .text("hello") }
        defer { rig.stop() }
        let url = try #require(URL(string: rig.server.url.absoluteString + target))
        let (_, response) = try await rig.session.data(from: url)
        // What `URL` itself encodes it hands to us encoded.
        let sent = url.absoluteString.dropFirst(rig.server.url.absoluteString.count)
        #expect(rig.server.requests[0].target == sent)
        #expect(response.url == url)
    }

    @Test("A URL without a path asks for the root", arguments: ["", "?q=1"])
    func root(rest: String) async throws {
        let rig = try Rig { _ in .text("hello") }
        defer { rig.stop() }
        let url = try #require(URL(string: rig.server.url.absoluteString + rest))
        _ = try await rig.session.data(from: url)
        #expect(rig.server.requests[0].target == "/" + rest)
    }

    @Test("A fragment is not sent")
    func fragment() async throws {
        let rig = try Rig { _ in .text("hello") }
        defer { rig.stop() }
        let url = try #require(URL(string: rig.url("/path?query").absoluteString + "#fragment"))
        let (_, response) = try await rig.session.data(from: url)
        #expect(rig.server.requests[0].target == "/path?query")
        #expect(response.url == url)
    }

    @Test("A relative URL is resolved against its base")
    func relative() async throws {
        let rig = try Rig { _ in .text("hello") }
        defer { rig.stop() }
        let url = try #require(URL(string: "child?x", relativeTo: rig.url("/parent/sibling")))
        _ = try await rig.session.data(from: url)
        #expect(rig.server.requests[0].target == "/parent/child?x")
    }

    private static let hasIPv6 = FileManager.default.fileExists(atPath: "/proc/net/if_inet6")

    @Test(
        "IPv6 literals are connected to, and named in Host with their brackets",
        .enabled(if: hasIPv6, "the system has no IPv6")
    )
    func ipv6() async throws {
        let server = try LoopbackServer(host: "::1") { _ in .text("hello") }
        defer { server.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let url = try #require(URL(string: "http://[::1]:\(server.port)/path"))
        let (data, response) = try await session.data(from: url)
        #expect(data == Data("hello".utf8))
        #expect(response.url == url)
        #expect(server.requests[0].header("Host") == "[::1]:\(server.port)")
        #expect(server.requests[0].target == "/path")
    }

    @Test(
        "A URL with anything but an IPv6 address in brackets is a bad one",
        arguments: ["[localhost]", "[127.0.0.1]"]
    )
    func brackets(host: String) async throws {
        let rig = try Rig { _ in .text("hello") }
        defer { rig.stop() }
        let url = try #require(URL(string: "http://\(host):\(rig.server.port)/"))
        #expect(await rig.session.load(url).error?.code == .badURL)
        #expect(rig.server.connectionCount == 0)
    }

    @Test("International host names are sent in their ASCII form")
    func internationalHost() async throws {
        let rig = try Rig { _ in .text("hello") }
        defer { rig.stop() }
        let url = try #require(URL(string: "http://bücher.localhost:\(rig.server.port)/"))
        let (data, _) = try await rig.session.data(from: url)
        #expect(data == Data("hello".utf8))
        #expect(rig.server.requests[0].header("Host") == "xn--bcher-kva.localhost:\(rig.server.port)")
    }

    @Test(
        "A host in another spelling is sent in its usual form, and shown as the program wrote it",
        arguments: [
            ("127.1", "127.0.0.1"), ("2130706433", "127.0.0.1"), ("0x7f.0.0.1", "127.0.0.1"),
            ("%6Cocalhost", "localhost"), ("%EF%BD%8Cocalhost", "localhost"), ("a%E3%80%82localhost", "a.localhost"),
        ]
    )
    func spellings(host: String, usual: String) async throws {
        let rig = try Rig { _ in .text("hello") }
        defer { rig.stop() }
        let url = try #require(URL(string: "http://\(host):\(rig.server.port)/path?q"))
        let (data, response) = try await rig.session.data(from: url)
        #expect(data == Data("hello".utf8))
        #expect(response.url == url)
        #expect(rig.server.requests[0].header("Host") == "\(usual):\(rig.server.port)")
        #expect(rig.server.requests[0].target == "/path?q")
    }

    @Test("Scheme and host may be in capitals, which the server sees")
    func capitals() async throws {
        let rig = try Rig { _ in .text("hello") }
        defer { rig.stop() }
        let url = try #require(URL(string: "HTTP://LOCALHOST:\(rig.server.port)/Path"))
        _ = try await rig.session.data(from: url)
        #expect(rig.server.requests[0].header("Host") == "LOCALHOST:\(rig.server.port)")
        #expect(rig.server.requests[0].target == "/Path")
    }

    @Test(
        "User name and password become Basic authorization, and appear nowhere else",
        arguments: ["user:pass", "us%C3%BCr:p%40ss%3Aword", "user", ":pass", "user:"]
    )
    func userInformation(userInfo: String) async throws {
        let rig = try Rig { _ in .text("hello") }
        defer { rig.stop() }
        let url = try #require(URL(string: "http://\(userInfo)@127.0.0.1:\(rig.server.port)/path@x"))
        _ = try await rig.session.data(from: url)
        let request = rig.server.requests[0]
        let decoded = userInfo.removingPercentEncoding ?? ""
        let plain = decoded.contains(":") ? decoded : decoded + ":"
        #expect(request.headers(named: "Authorization") == ["Basic " + Data(plain.utf8).base64EncodedString()])
        #expect(request.headers(named: "Host") == ["127.0.0.1:\(rig.server.port)"])
        #expect(request.target == "/path@x")
    }

    @Test("The program's own Authorization goes before the URL's user name")
    func ownAuthorization() async throws {
        let rig = try Rig { _ in .text("hello") }
        defer { rig.stop() }
        let url = try #require(URL(string: "http://user:pass@127.0.0.1:\(rig.server.port)/"))
        _ = try await rig.session.data(for: URLRequest(url, headers: ["Authorization": "Bearer token"]))
        #expect(rig.server.requests[0].headers(named: "Authorization") == ["Bearer token"])
    }

    @Test(
        "A URL of an unknown scheme fails with a clear error",
        arguments: [
            "gopher://127.0.0.1/", "mailto:a@b.c", "relative/path",
            "nonsense://x", "about:blank",
        ]
    )
    func unsupported(text: String) async throws {
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let url = try #require(URL(string: text))
        let result = await session.load(url)
        #expect(result.error?.code == .unsupportedURL)
        #expect(result.error?.failingURL == url)
        #expect(result.data == nil && result.response == nil)
    }

    @Test(
        "A URL without a host, or with one that can't be, fails as bad",
        arguments: [
            "http:", "http://", "http:///path", "http:path", "http://a%2Fb/", "http://a%EF%BC%8Fb/", "http://a%40b/",
        ]
    )
    func hostless(text: String) async throws {
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        guard let url = URL(string: text) else { return }
        let result = await session.load(url)
        #expect(result.error?.code == .badURL)
        #expect(result.error?.failingURL == url)
    }
}
