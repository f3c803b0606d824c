import Foundation
import Testing

@testable import CurlNetworking

@Suite("The environment's proxies")
struct ProxyEnvironmentTests {
    private static func route(_ variables: [String: String], _ url: String = "http://example.com/") throws -> ProxyRoute
    {
        let url = try Sample.url(url)
        return ProxyTable { variables[$0] }.route(to: try #require(Origin(url) ?? Origin.ofFTP(url)))
    }

    private static func proxy(_ variables: [String: String], _ url: String = "http://example.com/") throws -> String? {
        try route(variables, url).server?.description
    }

    @Test("Each scheme has its variable, and all_proxy is for those without one")
    func schemes() throws {
        let variables = ["http_proxy": "a:1", "https_proxy": "b:2", "ftp_proxy": "c:3", "all_proxy": "socks5h://d:4"]
        #expect(try Self.proxy(variables) == "http://a:1")
        #expect(try Self.proxy(variables, "https://example.com/") == "http://b:2")
        #expect(try Self.proxy(variables, "ftp://example.com/") == "http://c:3")
        #expect(try Self.proxy(variables, "ftps://example.com/") == "socks5h://d:4")
        #expect(try Self.proxy([:]) == nil)
    }

    @Test("Lower case goes before upper case, an empty variable is none, and HTTP_PROXY isn't read")
    func cases() throws {
        let secure = "https://example.com/"
        #expect(try Self.proxy(["HTTPS_PROXY": "a:1"], secure) == "http://a:1")
        #expect(try Self.proxy(["https_proxy": "b:2", "HTTPS_PROXY": "a:1"], secure) == "http://b:2")
        #expect(try Self.proxy(["https_proxy": "", "HTTPS_PROXY": "a:1"], secure) == "http://a:1")
        #expect(try Self.proxy(["ALL_PROXY": "a:1"]) == "http://a:1")
        #expect(try Self.proxy(["all_proxy": "b:2", "ALL_PROXY": "a:1"]) == "http://b:2")
        #expect(try Self.proxy(["HTTP_PROXY": "a:1"]) == nil)
        #expect(try Self.proxy(["HTTP_PROXY": "a:1", "all_proxy": "b:2"]) == "http://b:2")
    }

    @Test("no_proxy lists exceptions, with commas or spaces between them")
    func exceptions() throws {
        for list in ["a.example,example.com", "a.example example.com", " , example.com ,,", "*"] {
            #expect(try Self.proxy(["http_proxy": "a:1", "no_proxy": list]) == nil, "\(list)")
            #expect(try Self.proxy(["http_proxy": "a:1", "NO_PROXY": list]) == nil, "\(list)")
        }
        #expect(try Self.proxy(["http_proxy": "a:1", "no_proxy": "example.org", "NO_PROXY": "*"]) == "http://a:1")
        let lists = ["no_proxy": "10.0.0.0/8,2001:db8::/32", "all_proxy": "a:1"]
        #expect(try Self.proxy(lists, "https://10.9.8.7:8443/") == nil)
        #expect(try Self.proxy(lists, "https://[2001:db8::7]/") == nil)
        #expect(try Self.proxy(lists, "https://192.0.2.1/") == "http://a:1")
    }

    @Test("A variable that names no proxy keeps requests from going without one, but for the exceptions")
    func unusable() throws {
        guard case .unusable(let reason) = try Self.route(["http_proxy": "quic://proxy"]) else {
            Issue.record("It was taken for something")
            return
        }
        #expect(reason.contains("http_proxy") && reason.contains("quic"))
        #expect(try Self.route(["http_proxy": "quic://proxy"], "https://example.com/") == .direct)
        #expect(try Self.route(["http_proxy": "quic://proxy", "no_proxy": "example.com"]) == .direct)
    }

    @Test("User name and password are the proxy's")
    func credentials() throws {
        let server = try Self.route(["http_proxy": "http://user:p%40ss@proxy:3128"]).server
        #expect(server?.credential == Credential(user: "user", password: "p@ss"))
    }
}
