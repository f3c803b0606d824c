import Foundation
import Testing

@testable import CurlNetworking

@Suite("What a storage's file doesn't keep of a cookie")
struct CookieNoteTests {
    private static func cookie(_ more: [HTTPCookiePropertyKey: Any]) throws -> HTTPCookie {
        let properties: [HTTPCookiePropertyKey: Any] = [.name: "a", .value: "1", .domain: "example.com", .path: "/"]
        return try #require(HTTPCookie(properties: properties.merging(more) { $1 }))
    }

    /// As the stock storage reads it from its file.
    private static func afterRestart(_ cookie: HTTPCookie) throws -> HTTPCookie {
        var properties: [HTTPCookiePropertyKey: Any] = [
            .name: cookie.name, .value: cookie.value, .domain: cookie.domain, .path: cookie.path,
        ]
        properties[.expires] = cookie.expiresDate
        properties[.comment] = cookie.comment
        return try #require(HTTPCookie(properties: properties))
    }

    private static var httpOnly: HTTPCookiePropertyKey { HTTPCookiePropertyKey("HttpOnly") }
    private static let end = Date(timeIntervalSinceNow: 1000)

    /// When the object was made, which the stock class doesn't let programs choose.
    private static func made(_ cookie: HTTPCookie) -> Double? {
        cookie.properties?[HTTPCookiePropertyKey("Created")] as? Double
    }

    @Test(
        "A cookie from the file is Secure and HttpOnly, and as old, as before",
        arguments: [true, false],
        [true, false]
    )
    func roundTrip(isSecure: Bool, isHTTPOnly: Bool) throws {
        var properties: [HTTPCookiePropertyKey: Any] = [.expires: Self.end]
        if isSecure { properties[.secure] = "TRUE" }
        if isHTTPOnly { properties[Self.httpOnly] = "TRUE" }
        let stored = StoredCookie(try Self.cookie(properties))
        let read = StoredCookie(try Self.afterRestart(stored.noted.cookie))
        #expect(read.equals(stored))
        #expect(read.created == stored.created)
        #expect(read.isSecure == isSecure && read.cookie.isSecure == isSecure)
        #expect(read.cookie.isHTTPOnly == isHTTPOnly)
        let again = StoredCookie(try Self.afterRestart(read.noted.cookie))
        #expect(again.equals(stored) && again.created == stored.created)
    }

    @Test("A note with the flag alone, as earlier versions have written it, is read as well")
    func earlier() throws {
        let note = try #require(CookieNote("Secure"))
        #expect(note.isSecure && !note.isHTTPOnly && note.created == nil)
        let cookie = try Self.cookie([.comment: "Secure"])
        let stored = StoredCookie(cookie)
        #expect(stored.isSecure && stored.cookie.isSecure && !stored.cookie.isHTTPOnly)
        #expect(stored.created == Self.made(cookie))
    }

    @Test(
        "Parts of a comment that make no sense are skipped, and the rest counts",
        arguments: [
            "Created=", "Created=nan", "Created=-inf", "Created=-1e300", "Created=1e999", "Created=yesterday",
            "Created", "created=1", "",
            ";;",
            "Max-Age=1",
        ]
    )
    func nonsense(part: String) {
        #expect(CookieNote(part) == nil)
        #expect(CookieNote("Secure;" + part) == CookieNote("Secure"))
        #expect(CookieNote(part + " ; HttpOnly") == CookieNote("HttpOnly"))
    }

    @Test("No cookie is from the future")
    func future() throws {
        let cookie = try Self.cookie([.comment: "Created=1e12"])
        #expect(StoredCookie(cookie).created == Self.made(cookie))
        #expect(StoredCookie(try Self.cookie([.comment: "Created=1.5"])).created == 1.5)
    }

    @Test("A program's own comment stays, unless the cookie would be sent over http without a note")
    func ownComment() throws {
        let plain: [HTTPCookiePropertyKey: Any] = [.comment: "my own", .expires: Self.end]
        #expect(StoredCookie(try Self.cookie(plain)).noted.cookie.comment == "my own")
        let secure = StoredCookie(try Self.cookie(plain.merging([.secure: "TRUE"]) { $1 }))
        #expect(CookieNote(secure.noted.cookie.comment)?.isSecure == true)
    }

    @Test("A session cookie, which gets into no file, is left as it is")
    func sessionCookie() throws {
        let cookie = try Self.cookie([.secure: "TRUE"])
        #expect(StoredCookie(cookie).noted.cookie === cookie)
    }

    @Test("With a note a cookie stays what it is in everything else", arguments: ["0", "1"])
    func rest(version: String) throws {
        let url = try Sample.url("http://example.com/comment")
        let cookie = try Self.cookie([
            .expires: Self.end, .port: "8080,8443", .version: version, .secure: "TRUE", .commentURL: url,
            .discard: "FALSE", Self.httpOnly: "TRUE",
        ])
        let noted = StoredCookie(cookie).noted.cookie
        #expect(noted !== cookie && noted.comment != nil)
        #expect(noted.name == cookie.name && noted.value == cookie.value)
        #expect(noted.domain == cookie.domain && noted.path == cookie.path)
        #expect(noted.expiresDate == cookie.expiresDate && noted.isSessionOnly == cookie.isSessionOnly)
        #expect(noted.portList == cookie.portList && noted.version == cookie.version)
        #expect(noted.commentURL == url && noted.isSecure && noted.isHTTPOnly)
    }

    @Test("A cookie whose end was given as an age stays what it is with a note")
    func age() throws {
        let cookie = try Self.cookie([.maximumAge: "100", .version: "1", .secure: "TRUE"])
        let noted = StoredCookie(cookie).noted.cookie
        #expect(noted.expiresDate != nil && noted.expiresDate == cookie.expiresDate)
        #expect(!noted.isSessionOnly && noted.version == 1)
    }
}
