import Foundation
import Testing

@testable import CurlNetworking

@Suite("Origins")
struct OriginTests {
    static let equal = [
        ("http://example.com/", "HTTP://EXAMPLE.com:80/path?q#f"),
        ("https://example.com", "https://user:password@example.com:443/"),
        ("http://[::1]/", "http://[::1]:80/x"),
    ]

    @Test("Path, user, case and the scheme's own port make no other origin", arguments: equal)
    func same(a: String, b: String) throws {
        #expect(try Origin(Sample.url(a)) == Origin(Sample.url(b)))
        #expect(try Origin(Sample.url(a)) != nil)
    }

    @Test(
        "An origin that is read from a URL's text is that of the URL's parts",
        arguments: [
            "http://example.com", "http://example.com/", "https://a.b-c.example:8443/x?y#z", "http://a?b",
            "https://a#b", "http://1.2.3.4:1/",
            "http://a:65535/", "http://xn--bcher-kva.example/",
        ]
    )
    func plain(text: String) throws {
        let url = try Sample.url(text)
        let origin = try #require(Origin(plain: text))
        #expect(origin.scheme.rawValue == url.scheme && origin.host == url.host(percentEncoded: false))
        #expect(origin.port == url.port ?? origin.scheme.defaultPort)
        #expect(origin.begins(text))
    }

    @Test(
        "A text begins with an origin only if nothing else stands before the path",
        arguments: [
            "", "http://a", "http://a.b:81/", "http://a.b:8", "http://a.b:8000/", "http://a.b:80800000000000000000/",
            "http://a.bc:80/", "http://a.b.c/", "http://a.b@c/", "http://a.b:80@c/", "http://a.b:pw@c:80/",
            "http://A.b/",
            "http://a.b\\c/", "http://a.b:", "http://a.b:0/", "https://a.b/", "https://a.b:80/", "ftp://a.b:80/",
            " http://a.b/",
        ]
    )
    func notBegun(text: String) throws {
        #expect(try !#require(Origin(plain: "http://a.b/")).begins(text))
    }

    @Test(
        "An unusual URL's origin isn't read from its text",
        arguments: [
            "", "http", "http:", "http://", "http:///", "http://:80/", "HTTP://a/", "http://A/", "http://u@a/",
            "http://u:p@a/", "http://[::1]/",
            "http://%61/", "http://a:/", "http://a:0/", "http://a:65536/", "http://a:99999999999999999999/",
            "http://a:b/", "http://a:80a/",
            "http://a\\b/", "http://a_b/", "http://b\u{fc}cher/", "http+unix://%2Fs/", "ftp://a/", "https:/a",
            "http://127.1/", "http://127.0.0.1./", "http://2130706433/", "http://0x7f.1:80/",
            "httpx://a/",
        ]
    )
    func notPlain(text: String) {
        #expect(Origin(plain: text) == nil)
    }

    static let different = [
        ("http://example.com/", "https://example.com/"),
        ("http://example.com/", "http://example.com:443/"),
        ("http://example.com/", "http://www.example.com/"),
        ("http://[::1]/", "http://[::2]/"),
        ("https://example.com:80/", "http://example.com:80/"),
    ]

    @Test("Scheme, host and port make another origin", arguments: different)
    func other(a: String, b: String) throws {
        #expect(try Origin(Sample.url(a)) != Origin(Sample.url(b)))
    }

    @Test(
        "A port that no number can be isn't the scheme's own",
        arguments: [
            "http://a.b:99999999999999999999/x", "https://[::1]:18446744073709551696",
            "http://u:1@a.b:99999999999999999999?c",
        ]
    )
    func largePort(text: String) throws {
        let origin = try #require(try Origin(Sample.url(text)))
        #expect(origin.port > 65_535)
    }

    @Test(
        "Digits elsewhere are no port",
        arguments: ["http://[::1]/:80", "http://u:1@a.b/x:2", "http://a.b?c:3", "http://a.b:/"]
    )
    func noPort(text: String) throws {
        #expect(try Origin(Sample.url(text))?.port == 80)
    }

    @Test(
        "A URL other than of http or https with a host has no origin",
        arguments: ["ftp://example.com/", "file:///etc/passwd", "/relative", "http:///path", "data:,x", "http:opaque"]
    )
    func none(text: String) throws {
        #expect(try Origin(Sample.url(text)) == nil)
    }

    @Test("An internationalised host that is too long for any name is none, so that it needn't be converted")
    func longHosts() throws {
        let long = String(repeating: "%E4%BE%8B", count: 341)
        #expect(try Origin(#require(URL(string: "http://\(long)/"))) == nil)
        let short = String(repeating: "%E4%BE%8B", count: 20)
        #expect(try Origin(#require(URL(string: "http://\(short)/")))?.host.hasPrefix("xn--") == true)
    }

    @Test("Only https is secure")
    func security() throws {
        #expect(try #require(Origin(Sample.url("https://a/"))).isSecure)
        #expect(try !#require(Origin(Sample.url("http://a/"))).isSecure)
    }
}
