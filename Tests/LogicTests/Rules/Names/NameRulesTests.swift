import CurlTransport
import Foundation
import Testing

@testable import CurlNetworking

@Suite("How hosts are found")
struct NameRulesTests {
    private func settings(_ url: String, _ change: (inout CurlOptions) -> Void) throws -> NameSettings? {
        let settings = Sample.settings { change(&$0.curl) }
        return try settings.names.settings(for: #require(Origin(Sample.url(url))))
    }

    @Test("By default libcurl is told nothing about finding hosts")
    func nothing() throws {
        #expect(try settings("https://example.com/") { _ in } == nil)
        let plan = try ConnectionPlan(Sample.settings(), for: #require(Origin(Sample.url("http://a/"))))
        #expect(plan.profile == nil)
    }

    @Test("A host's addresses are those of its own name and port, and of no other")
    func addresses() throws {
        let change = { (options: inout CurlOptions) in
            options.hosts["api.example.com"].names.addresses = ["10.0.0.1", "::1"]
        }
        let found = try settings("https://API.example.com/", change)
        #expect(
            found?.overrides == [.init(host: "api.example.com", port: 443, addresses: ["10.0.0.1", "::1"])]
        )
        #expect(try settings("https://example.com/", change) == nil)
    }

    @Test("A proxy's addresses are those of its own entry")
    func proxyAddresses() throws {
        let proxied = Sample.settings {
            $0.curl.hosts["Proxy.test"].names.addresses = ["10.0.0.1"]
            $0.curl.hosts["api.example.com"].names.addresses = ["10.0.0.2"]
        }
        let origin = try #require(Origin(Sample.url("https://api.example.com/")))
        let server = CurlOptions.ProxyServer(.http, host: "PROXY.test", port: 3128)
        #expect(
            proxied.names.settings(for: origin, through: server)?.overrides == [
                .init(host: "api.example.com", port: 443, addresses: ["10.0.0.2"]),
                .init(host: "proxy.test", port: 3128, addresses: ["10.0.0.1"]),
            ]
        )
    }

    @Test("A host that is connected to instead has the addresses of its own entry")
    func connectTo() throws {
        let found = try settings("https://api.example.com/") { options in
            options.hosts["api.example.com"].names.connectTo = .init("Backend", port: 8443)
            options.hosts["*.example.com"].names.addresses = ["10.0.0.1"]
            options.hosts["backend:8443"].names.addresses = ["10.0.0.2"]
        }
        #expect(found?.connectTo == "backend:8443")
        #expect(found?.overrides == [.init(host: "backend", port: 8443, addresses: ["10.0.0.2"])])
    }

    @Test("An entry's addresses are those of the host that it connects to, if its pattern matches that host")
    func connectToSamePattern() throws {
        let found = try settings("https://api.example.com/") { options in
            options.hosts["api.example.com"].names.connectTo = .init("api.example.com", port: 8443)
            options.hosts["api.example.com"].names.addresses = ["10.0.0.1"]
        }
        #expect(found?.connectTo == "api.example.com:8443")
        #expect(found?.overrides == [.init(host: "api.example.com", port: 8443, addresses: ["10.0.0.1"])])
    }

    @Test("connectTo keeps the URL's port, puts IPv6 into brackets, and looks up no address")
    func connectToAddress() throws {
        let found = try settings("http://api.example.com:81/") { options in
            options.hosts["api.example.com"].names.connectTo = .init("::1")
            options.hosts["*"].names.addresses = ["10.0.0.1"]
        }
        #expect(found?.connectTo == "[::1]:81")
        #expect(found?.overrides == [])
    }

    @Test("A host's own values come before the session's")
    func precedence() throws {
        let change = { (options: inout CurlOptions) in
            options.names.ipVersion = .v4
            options.names.localEnd = .interface("eth0")
            options.names.cacheLifetime = .seconds(5)
            options.hosts["six"].names.ipVersion = .v6
            options.hosts["any"].names.ipVersion = .any
            options.hosts["six"].names.localEnd = .address("::1", ports: 4000...4001)
        }
        let six = try settings("http://six/", change)
        #expect(six?.ipVersion == .v6)
        #expect(six?.localEnd == .address("::1", ports: 4000...4001))
        #expect(six?.cacheLifetime == .seconds(5))
        let other = try settings("http://other/", change)
        #expect(other?.ipVersion == .v4)
        #expect(other?.localEnd == .interface("eth0"))
        #expect(try settings("http://any/", change)?.ipVersion == nil)
    }

    @Test("A Unix socket leaves no host to be found")
    func unixSocket() throws {
        let change = { (options: inout CurlOptions) in
            options.names.unixSocket = .path("/run/session")
            options.names.ipVersion = .v4
            options.hosts["docker"].names.unixSocket = .abstract("docker")
        }
        var expected = NameSettings()
        expected.unixSocket = .path("/run/session")
        #expect(try settings("https://example.com/", change) == expected)
        expected.unixSocket = .abstract("docker")
        #expect(try settings("http://docker/", change) == expected)
        // The URL's own comes first.
        expected.unixSocket = .path("/run/url")
        #expect(try settings("http+unix://%2Frun%2Furl/", change) == expected)
        let ftp = try #require(Origin.ofFTP(Sample.url("ftp://example.com/")))
        #expect(Sample.settings { change(&$0.curl) }.names.settings(for: ftp)?.unixSocket == nil)
    }

    @Test("No proxy leads to a host with a Unix socket")
    func unixSocketsHaveNoProxy() throws {
        let rules = Sample.settings {
            $0.curl.hosts["a"].names.connectTo = .init("b", port: 81)
            $0.curl.hosts["c"].names.unixSocket = .path("/c")
        }.names
        #expect(try !rules.usesUnixSocket(for: #require(Origin(Sample.url("http://a/")))))
        #expect(try rules.usesUnixSocket(for: #require(Origin(Sample.url("http://c/")))))
        let plan = ConnectionPlan(
            Sample.settings {
                $0.curl.proxy = .server(.init(host: "proxy", port: 1))
                $0.curl.names.unixSocket = .path("/c")
            },
            for: try #require(Origin(Sample.url("http://c/")))
        )
        #expect(plan.route == .direct)
    }

    @Test("DNS servers become libcurl's list, with IPv6 in brackets")
    func servers() throws {
        let found = try settings("http://a/") {
            $0.names.servers = [.init("10.0.0.1"), .init("10.0.0.2", port: 5353), .init("::1", port: 53), .init("::2")]
        }
        #expect(found?.servers == ["10.0.0.1", "10.0.0.2:5353", "[::1]:53", "[::2]"])
    }
}
