import CurlTransport
import Foundation
import Testing

@testable import CurlNetworking

@Suite("Which cookies a request carries")
struct CookieMatchingTests {
    private static let now = Date(timeIntervalSince1970: 1_000_000_000)

    private static func cookie(
        _ name: String = "a",
        value: String = "b",
        domain: String = "example.com",
        path: String = "/",
        more: [HTTPCookiePropertyKey: Any] = [:]
    ) throws -> HTTPCookie {
        var properties = more
        properties[.name] = name
        properties[.value] = value
        properties[.domain] = domain
        properties[.path] = path
        return try #require(HTTPCookie(properties: properties))
    }

    private static func field(_ cookies: [HTTPCookie], _ url: String) throws -> String? {
        let target = try #require(CookieTarget(Sample.url(url)))
        return CookieIndex(cookies).fieldValue(for: target, now: now)
    }

    @Test("A cookie without a domain goes to its host alone")
    func hostOnly() throws {
        let cookies = [try Self.cookie(domain: "example.com")]
        #expect(try Self.field(cookies, "http://EXAMPLE.com:8080/") == "a=b")
        #expect(try Self.field(cookies, "http://www.example.com/") == nil)
        #expect(try Self.field(cookies, "http://com/") == nil)
    }

    @Test("A cookie with a domain goes to the domain's hosts, and not to names that only end alike")
    func domain() throws {
        let cookies = [try Self.cookie(domain: ".example.com")]
        #expect(try Self.field(cookies, "http://example.com/") == "a=b")
        #expect(try Self.field(cookies, "http://a.b.example.com/") == "a=b")
        #expect(try Self.field(cookies, "http://badexample.com/") == nil)
        #expect(try Self.field(cookies, "http://example.com.evil.org/") == nil)
    }

    @Test(
        "An IP address has no domains, in whatever form it is written",
        arguments: [
            ("127.0.0.1", ".0.0.1"), ("[::1]", ".1]"), ("127.1", ".1"), ("0x7f.0.0.1", ".0.0.1"),
            ("0177.0.0.1", ".0.0.1"), ("127.0.0.1.", ".0.0.1."),
        ]
    )
    func address(host: String, domain: String) throws {
        #expect(try Self.field([Self.cookie(domain: domain)], "http://\(host)/") == nil)
    }

    static let paths: [(cookie: String, url: String, matches: Bool)] = [
        ("/", "/", true), ("/", "/a/b", true), ("/", "", true), ("/a", "/a", true), ("/a", "/a/b", true),
        ("/a/", "/a/b", true), ("/a", "/ab", false), ("/a/", "/a", false), ("/a/b", "/a", false), ("/A", "/a", false),
        ("/a", "/a?b", true), ("/a", "/b?/a", false), ("/\u{212A}", "/K/a/", false),
    ]

    @Test("A path matches itself and what is below it", arguments: paths)
    func path(_ example: (cookie: String, url: String, matches: Bool)) throws {
        let cookies = [try Self.cookie(path: example.cookie)]
        #expect(try Self.field(cookies, "http://example.com" + example.url) == (example.matches ? "a=b" : nil))
    }

    @Test("A secure cookie goes over https alone, also after the storage has lost the flag")
    func secure() throws {
        for properties: [HTTPCookiePropertyKey: Any] in [
            [.secure: "TRUE"], [.comment: "Secure"], [.comment: "Secure; HttpOnly; Created=1.5"],
        ] {
            let cookies = [try Self.cookie(more: properties)]
            #expect(try Self.field(cookies, "http://example.com/") == nil)
            #expect(try Self.field(cookies, "https://example.com/") == "a=b")
        }
    }

    @Test("An expired cookie is not sent")
    func expiry() throws {
        #expect(try Self.field([Self.cookie(more: [.expires: Self.now])], "http://example.com/") == nil)
        #expect(try Self.field([Self.cookie(more: [.expires: Self.now + 1])], "http://example.com/") == "a=b")
    }

    @Test("A cookie for certain ports goes to those")
    func ports() throws {
        let cookies = [try Self.cookie(more: [.port: "8080,8443", .version: "1"])]
        #expect(try Self.field(cookies, "http://example.com:8443/") == "a=b")
        #expect(try Self.field(cookies, "http://example.com/") == nil)
    }

    @Test("Longer paths come first, then older cookies")
    func order() throws {
        let old = try Self.cookie("old")
        let deep = try Self.cookie("deep", path: "/a/b")
        let middle = try Self.cookie("middle", path: "/a")
        #expect(try Self.field([old, middle, deep], "http://example.com/a/b/c") == "deep=b; middle=b; old=b")
    }

    @Test(
        "A program's cookie that would end the line or begin another cookie is not sent",
        arguments: [("a", "b\r\nX: y"), ("a", "b; c=d"), ("a\n", "b"), ("a=b", "c"), ("", "b"), ("a", "\u{0}")]
    )
    func injection(name: String, value: String) throws {
        let good = try Self.cookie("good")
        #expect(try Self.field([Self.cookie(name, value: value), good], "http://example.com/") == "good=b")
    }

    @Test("A tab within a value goes out as it is")
    func tab() throws {
        #expect(try Self.field([Self.cookie(value: "b\tc")], "http://example.com/") == "a=b\tc")
    }

    @Test("A program's own cookie is sent though it is larger than one that a response sets may be")
    func large() throws {
        let value = String(repeating: "b", count: 5000)
        #expect(try Self.field([Self.cookie(value: value)], "http://example.com/") == "a=" + value)
    }

    @Test("Stored cookies join those set by hand, which count where a name is in both")
    func byHand() {
        var options = TransferOptions(url: "http://example.com/", method: "GET")
        options.addCookies("x=1; y=2")
        #expect(options.headers == ["Cookie: x=1; y=2"])
        options.headers = ["Accept: */*", "cookie: y=own;z=3"]
        options.addCookies("x=1; y=2")
        #expect(options.headers == ["Accept: */*", "cookie: y=own;z=3; x=1"])
        // An empty field, as libcurl takes it.
        options.headers = ["Cookie;"]
        options.addCookies("x=1; y=2")
        #expect(options.headers == ["Cookie: x=1; y=2"])
    }

    @Test("A cookie set by hand counts, even if the value that a server gave it begins with a combining accent")
    func accents() {
        #expect(CookieField.merge("x=own", with: "x=\u{301}1; \u{301}y=2") == "x=own; \u{301}y=2")
        let own = "x=\u{301}own; \u{301}y=own"
        #expect(CookieField.merge(own[...], with: "x=1; \u{301}y=2") == own)
        #expect(CookieField.merge("\u{E9}=own", with: "e\u{301}=1; \u{E9}=2") == "\u{E9}=own; e\u{301}=1")
    }
}
