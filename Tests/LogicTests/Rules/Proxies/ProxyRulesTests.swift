import Foundation
import Testing

import CurlTransport
@testable import CurlNetworking

@Suite("Which proxy is used")
struct ProxyRulesTests {
    private static func plan(
        _ url: String = "http://example.com/",
        _ change: (URLSessionConfiguration) -> Void
    ) throws -> ConnectionPlan {
        ConnectionPlan(Sample.settings(change), for: try #require(Origin(Sample.url(url))))
    }

    private static var dictionary: [AnyHashable: Any] { ["HTTPEnable": 1, "HTTPProxy": "dictionary", "HTTPPort": 1] }

    @Test("A host's proxy goes before the session's, the dictionary's, and the environment's, in that order")
    func precedence() throws {
        let environment = ProxyTable { $0 == "http_proxy" ? "environment:1" : nil }
        let origin = try #require(Origin(Sample.url("http://example.com/")))
        #expect(ProxyRules(.system, system: environment).route(to: origin, own: nil).server?.host == "environment")

        let dictionary = try Self.plan { $0.connectionProxyDictionary = Self.dictionary }
        #expect(dictionary.route.server?.host == "dictionary")

        let session = try Self.plan {
            $0.connectionProxyDictionary = Self.dictionary
            $0.curl.proxy = .server(.init(host: "session", port: 1))
        }
        #expect(session.route.server?.host == "session")

        let host = try Self.plan {
            $0.connectionProxyDictionary = Self.dictionary
            $0.curl.proxy = .server(.init(host: "session", port: 1))
            $0.curl.hosts["example.com"].proxy = .server(.init(host: "host", port: 1))
        }
        #expect(host.route.server?.host == "host")
    }

    @Test("A host, a session and a dictionary can each say that there is no proxy")
    func none() throws {
        #expect(try Self.plan { $0.connectionProxyDictionary = [:] }.route == .direct)
        #expect(
            try Self.plan {
                $0.connectionProxyDictionary = Self.dictionary
                $0.curl.proxy = .direct
            }.route == .direct
        )
        let host = try Self.plan {
            $0.curl.proxy = .server(.init(host: "session", port: 1))
            $0.curl.hosts["*.com"].proxy = .direct
        }
        #expect(host.route == .direct && host.profile == nil)
    }

    @Test("A host can have the system's proxies in a session that has its own")
    func system() throws {
        let plan = try Self.plan {
            $0.connectionProxyDictionary = Self.dictionary
            $0.curl.proxy = .direct
            $0.curl.hosts["example.com"].proxy = .system
        }
        #expect(plan.route.server?.host == "dictionary")
    }

    @Test("Requests to a proxy's own exceptions go directly")
    func exceptions() throws {
        var server = CurlOptions.ProxyServer(host: "proxy", port: 1)
        server.exceptions = ["example.com", "10.0.0.0/8"]
        server.excludesSimpleHostnames = true
        for url in ["http://www.example.com/", "https://10.1.1.1/", "http://intranet/"] {
            #expect(try Self.plan(url) { $0.curl.proxy = .server(server) }.route == .direct, "\(url)")
        }
        #expect(try Self.plan("http://example.org/") { $0.curl.proxy = .server(server) }.route == .through(server))
    }

    @Test("libcurl is told the proxy alone: its credentials are the tasks', but for SOCKS")
    func settings() throws {
        func settings(_ scheme: CurlOptions.ProxyServer.Scheme, _ host: String = "::1") throws -> ProxySettings? {
            var server = CurlOptions.ProxyServer(scheme, host: host, port: 7)
            (server.user, server.password) = ("user", "secret")
            return try Self.plan { $0.curl.proxy = .server(server) }.profile?.settings.first as? ProxySettings
        }
        #expect(try settings(.http) == ProxySettings(url: "http://[::1]:7"))
        #expect(try settings(.socks5)?.url == "socks5://[::1]:7")
        #expect(try settings(.http, "B\u{dc}CHER.example")?.url == "http://xn--bcher-kva.example:7")
        #expect(try settings(.socks5)?.authentication?.user == "user")
    }
}
