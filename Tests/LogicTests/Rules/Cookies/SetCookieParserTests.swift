import Foundation
import Testing

@testable import CurlNetworking

@Suite("Set-Cookie fields")
struct SetCookieParserTests {
    private static let now = Date(timeIntervalSince1970: 1_000_000_000)

    private static func parse(_ field: String) -> ParsedCookie? {
        SetCookieParser.parse(field, now: now)
    }

    @Test("Name and value are what stands around the first equals sign, without white space")
    func pair() throws {
        let cookie = try #require(Self.parse(" a \t= b=c, \"d\" ; x"))
        #expect(cookie == ParsedCookie(name: "a", value: "b=c, \"d\""))
        #expect(Self.parse("a=")?.value == "")
    }

    @Test("All attributes are read, in any case, and unknown ones ignored")
    func attributes() throws {
        let cookie = try #require(
            Self.parse("a=b; SECURE; httponly; DOMAIN=.Example.COM; path=/x y; SameSite=Lax; Max-age=10; Version=1")
        )
        #expect(cookie.isSecure)
        #expect(cookie.isHTTPOnly)
        #expect(cookie.domain == "example.com")
        #expect(cookie.path == "/x y")
        #expect(cookie.expires == Self.now + 10)
    }

    @Test("A tab within a value is part of it")
    func tab() {
        #expect(Self.parse("a=\tb\tc\t; Path=/")?.value == "b\tc")
    }

    @Test("Max-Age goes before Expires, wherever it stands")
    func maximumAge() {
        let expires = "Expires=Sun, 06 Nov 1994 08:49:37 GMT"
        #expect(Self.parse("a=b; Max-Age=60; \(expires)")?.expires == Self.now + 60)
        #expect(Self.parse("a=b; \(expires); Max-Age=60")?.expires == Self.now + 60)
        #expect(Self.parse("a=b; Max-Age=x; \(expires)")?.expires == Date(timeIntervalSince1970: 784_111_777))
    }

    @Test(
        "A Max-Age of zero or less is the past, and a huge one the far future",
        arguments: ["0", "-1", "-99999999999999999999"]
    )
    func maximumAgeBounds(text: String) throws {
        #expect(try #require(Self.parse("a=b; Max-Age=\(text)")?.expires) < Self.now)
        let far = try #require(Self.parse("a=b; Max-Age=99999999999999999999")?.expires)
        #expect(far > Self.now + 60 * 365 * 24 * 60 * 60)
    }

    @Test("The last of several equal attributes counts")
    func lastCounts() throws {
        let cookie = try #require(Self.parse("a=b; Path=/x; Path=/y; Domain=x.com; Domain=y.com"))
        #expect(cookie.path == "/y")
        #expect(cookie.domain == "y.com")
        #expect(Self.parse("a=b; Path=/x; Path=relative")?.path == nil)
        #expect(Self.parse("a=b; Path=/x; Path=/\u{301}y")?.path == "/\u{301}y")
    }

    @Test("A dot alone is no domain, and replaces an earlier one")
    func dotAsDomain() throws {
        #expect(try #require(Self.parse("a=b; Domain=.")).domain == nil)
        #expect(try #require(Self.parse("a=b; Domain=x.com; Domain= . ")).domain == nil)
        #expect(try #require(Self.parse("a=b; Domain=..")).domain == ".")
    }

    @Test("An empty domain is none")
    func emptyDomain() {
        #expect(Self.parse("a=b; Domain=; Domain")?.domain == nil)
        #expect(Self.parse("a=b; Domain=x.com; Domain=")?.domain == "x.com")
    }

    @Test(
        "A field without a cookie is ignored",
        arguments: ["", ";", "a", "=b", "  =b; Path=/", "a=b\u{0}c", "a=b\u{7F}", "a=b\r\nSet-Cookie: c=d", "; a=b"]
    )
    func nonsense(field: String) {
        #expect(Self.parse(field) == nil)
    }

    @Test("A cookie that is too large is ignored")
    func sizes() {
        #expect(Self.parse("a=" + String(repeating: "b", count: 4095)) != nil)
        #expect(Self.parse("a=" + String(repeating: "b", count: 4096)) == nil)
    }

    @Test("Only the value of an attribute is measured")
    func attributeSize() throws {
        let longest = "/" + String(repeating: "x", count: 1023)
        #expect(Self.parse("a=b; Path=\(longest)")?.path == longest)
        #expect(Self.parse("a=b; Path  =  \(longest)  ")?.path == longest)
        let tooLong = try #require(Self.parse("a=b; Path=\(longest)x; Domain=e.com"))
        #expect(tooLong.path == nil)
        #expect(tooLong.domain == "e.com")
        let unknown = "x" + String(repeating: "y", count: 2000)
        #expect(Self.parse("a=b; \(unknown)=1; Secure")?.isSecure == true)
    }
}

@Suite("Dates of cookies")
struct CookieDateTests {
    @Test(
        "Every spelling that servers use is understood",
        arguments: [
            "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
            "Sun, 06-Nov-1994 08:49:37 UTC", "06 nov 94 8:49:37", "1994 NOVEMBER 6th 08:49:37",
        ]
    )
    func spellings(text: String) {
        #expect(CookieDate.parse(text) == Date(timeIntervalSince1970: 784_111_777))
    }

    @Test("A year of two digits is between 1970 and 2069")
    func centuries() throws {
        #expect(CookieDate.parse("01 Jan 70 00:00:00") == Date(timeIntervalSince1970: 0))
        #expect(CookieDate.parse("01 Jan 69 00:00:00") == Date(timeIntervalSince1970: 3_124_224_000))
    }

    @Test(
        "What follows a number, or the seconds, without being a digit is ignored (RFC 6265 §5.1.1)",
        arguments: [
            "6th Nov 1994AD 08:49:37Z", "6 Nov 1994 08:49:37.5", "6 Nov 1994 08:49:37:00", "6 Nov 1994 08:49:37:",
        ]
    )
    func rests(text: String) {
        #expect(CookieDate.parse(text) == Date(timeIntervalSince1970: 784_111_777))
    }

    @Test("There is no leap second")
    func leapSecond() {
        #expect(CookieDate.parse("31 Dec 2098 23:59:59") != nil)
        #expect(CookieDate.parse("31 Dec 2098 23:59:60") == nil)
    }

    @Test("Leap days exist in leap years only")
    func leapDays() {
        #expect(CookieDate.parse("29 Feb 2024 12:00:00") == Date(timeIntervalSince1970: 1_709_208_000))
        #expect(CookieDate.parse("29 Feb 2000 00:00:00") == Date(timeIntervalSince1970: 951_782_400))
        #expect(CookieDate.parse("29 Feb 2023 12:00:00") == nil)
        #expect(CookieDate.parse("29 Feb 2100 12:00:00") == nil)
    }

    @Test(
        "A malformed date of a cookie is none",
        arguments: [
            "", "0", "-1", "tomorrow", "31 Apr 2024 00:00:00", "01 Jan 1600 00:00:00", "01 Jan 2024 24:00:00",
            "01 Jan 2024 00:60:00", "01 Jan 2024", "00 Jan 2024 00:00:00", "1 Jan 2024 0:0", "1 Jan 2024 0:0:000",
        ]
    )
    func nonsense(text: String) {
        #expect(CookieDate.parse(text) == nil)
    }
}
