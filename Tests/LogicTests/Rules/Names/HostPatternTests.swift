import Foundation
import Testing

@testable import CurlNetworking

@Suite("Patterns of hosts")
struct HostPatternTests {
    @Test(
        "A pattern names hosts",
        arguments: [
            ("api.example.com", "http://api.example.com/", true), ("API.Example.com", "https://api.EXAMPLE.com/", true),
            ("api.example.com", "http://example.com/", false), ("api.example.com", "http://api.example.com:81/", true),
            ("api.example.com:443", "https://api.example.com/", true),
            ("api.example.com:443", "http://api.example.com/", false),
            ("*.example.com", "http://a.b.example.com/", true), ("*.example.com", "http://example.com/", false),
            ("*.example.com", "http://notexample.com/", false), ("*.example.com:80", "http://a.example.com/", true),
            ("*", "https://anything/", true), ("*:8443", "https://anything:8443/", true),
            ("*:8443", "https://anything/", false), ("[::1]", "http://[::1]:8080/", true),
            ("[::1]:8080", "http://[::1]:8080/", true), ("[::1]:8080", "http://[::1]/", false),
            ("127.0.0.1", "http://127.0.0.1/", true), ("bücher.example", "http://xn--bcher-kva.example/", true),
            ("api.example.com", "https://api.example.com./", true),
            ("api.example.com.", "https://api.example.com/", true),
            ("api.example.com.:443", "https://API.example.com./", true),
            ("*.example.com", "https://api.example.com./", true), ("*.example.com.", "https://api.example.com/", true),
            ("*.example.com", "https://example.com./", false), ("127.0.0.1", "http://127.0.0.1./", true),
            ("127.0.0.1", "http://127.1/", true), ("127.0.0.1", "http://2130706433/", true),
            ("127.1:81", "http://127.0.0.1:81/", true), ("127.1", "http://127.0.0.2/", false),
            ("127.0.0.1", "http://[::ffff:7f00:1]/", true), ("[::ffff:127.0.0.1]", "http://127.0.0.1/", true),
            ("[::1]", "http://[0:0:0:0:0:0:0:1]/", true), ("[0::1]", "http://[::1]/", true),
            ("[2001:DB8::A]", "http://[2001:db8:0::a]/", true), ("[fe80::1]", "http://[fe80::1%25eth0]/", true),
            ("*.example.com", "https://[fe80::1%25x.example.com]/", false),
            ("*.example.com", "https://[fe80::1%25x.example.com.]/", false),
            ("localhost", "http://%EF%BD%8Cocalhost/", true), ("*.localhost", "http://a%E3%80%82localhost/", true),
        ]
    )
    func matches(pattern: String, url: String, expected: Bool) throws {
        let pattern = try #require(HostPattern(pattern))
        let origin = try #require(URL(string: url).flatMap { Origin($0) })
        #expect(pattern.matches(origin) == expected)
    }

    @Test(
        "A malformed pattern is refused",
        arguments: [
            "", "a b", "http://example.com", "example.com/path", "a.*.com", "*example.com", "**", "*.", "host:",
            "host:0",
            "host:65536", "host:+80", "host:http", "*..", "host..", "::1", "user@host", "host?x", "host#x",
            "*.127.0.0.1", "*.0.0.1", "*.1", ".example.com", ".example.com:443", "example..com", "*..example.com",
            "host:80:80", "host:80:8080",
        ]
    )
    func refused(pattern: String) {
        #expect(HostPattern(pattern) == nil)
    }

    @Test("The closest pattern that sets a value has the say, and leaves the others to the next")
    func order() throws {
        var table = CurlOptions.HostTable()
        let patterns = [
            "*", "*:8443", "*.com", "*.example.com", "*.example.com:8443", "api.example.com", "api.example.com:8443",
        ]
        let url = try #require(URL(string: "https://api.example.com:8443/"))
        let origin = try #require(Origin(url))
        for (index, pattern) in patterns.enumerated() {
            table[pattern].maximumConnections = index + 1
            #expect(HostRules(table).first(\.maximumConnections, for: origin) == index + 1)
        }
        table["api.example.com:8443"].maximumConnections = nil
        #expect(HostRules(table).first(\.maximumConnections, for: origin) == 6)
    }

    @Test("A value that is made for each host is that of the closest pattern that sets one, or else the session's")
    func values() throws {
        var table = CurlOptions.HostTable()
        table["*.example.com"].maximumConnections = 1
        table["api.example.com"].maximumConnections = 2
        table["api.example.com:8443"].publicKeyPins = ["pin"]
        let values = HostRules(table).values({ $0.maximumConnections.map { "\($0)" } }, otherwise: "none")
        func value(_ url: String) throws -> String { values[try #require(URL(string: url).flatMap { Origin($0) })] }
        #expect(try value("https://api.example.com:8443/") == "2")
        #expect(try value("https://www.example.com/") == "1")
        #expect(try value("https://example.com/") == "none")
    }

    @Test("Of two patterns for the same hosts, the first in alphabetical order has the say")
    func twins() throws {
        let origin = try #require(URL(string: "https://api.example.com./").flatMap { Origin($0) })
        for _ in 0..<20 {
            var table = CurlOptions.HostTable()
            table["api.example.com."].publicKeyPins = ["second"]
            table["api.example.com"].publicKeyPins = ["first"]
            #expect(HostRules(table).first(\.publicKeyPins, for: origin) == ["first"])
        }
    }

    @Test("Options for hosts that make no sense are named")
    func validation() {
        var options = CurlOptions()
        #expect(throws: Never.self) { try options.validate() }
        options.hosts["a"].maximumConnections = 0
        #expect(throws: CurlOptionsError("hosts[\"a\"].maximumConnections", "There must be at least 1.")) {
            try options.validate()
        }
        options = CurlOptions()
        options.hosts["http://a"].maximumConnections = 1
        #expect { try options.validate() } throws: { "\($0)".hasPrefix("curl.hosts[\"http://a\"]: ") }
    }
}
