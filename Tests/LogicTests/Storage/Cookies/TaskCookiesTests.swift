import Foundation
import Testing

@testable import CurlNetworking

@Suite("Cookies of one task's own")
struct TaskCookiesTests {
    private let plain: URL
    private let secure: URL

    init() throws {
        plain = try Sample.url("http://host.example/a/b")
        secure = try Sample.url("https://host.example/a/b")
    }

    private func cookie(_ name: String, isSecure: Bool = false) throws -> StoredCookie {
        var properties: [HTTPCookiePropertyKey: Any] = [
            .name: name, .value: "1", .domain: "host.example", .path: "/",
        ]
        if isSecure { properties[.secure] = "TRUE" }
        return StoredCookie(try #require(HTTPCookie(properties: properties)))
    }

    private func store(_ fields: [String], from url: URL, in cookies: TaskCookies) async {
        await withCheckedContinuation { continuation in
            cookies.store(fields, from: url, mainDocument: nil, policy: .always) { continuation.resume() }
        }
    }

    @Test("A task's own cookies are sent, secure ones over https alone, and none to other hosts")
    func given() throws {
        let cookies = TaskCookies([try cookie("a"), try cookie("b", isSecure: true)])
        #expect(cookies.cookieField(for: secure) == .found("a=1; b=1"))
        #expect(cookies.cookieField(for: plain) == .found("a=1"))
        #expect(try cookies.cookieField(for: Sample.url("https://other.example/")) == .found(nil))
    }

    @Test("A task's next request has the cookies that a response has set, by the rules of every session")
    func responses() async throws {
        let cookies = TaskCookies([try cookie("gone")])
        let fields = ["own=2", "other=2; Domain=bank.example", "top=2; Domain=example", "gone=; Max-Age=0; Path=/"]
        await store(fields, from: plain, in: cookies)
        let field = await withCheckedContinuation { continuation in
            cookies.findCookieField(afterStoringFor: secure) { continuation.resume(returning: $0) }
        }
        #expect(field == "own=2")
        for host in ["bank.example", "evil.example"] {
            #expect(try cookies.cookieField(for: Sample.url("http://\(host)/")) == .found(nil))
        }
    }

    @Test("The last response's fields are kept as they came, one by one")
    func fields() async throws {
        let cookies = TaskCookies([])
        #expect(cookies.fields(ofResponseFrom: plain) == nil)
        let fields = ["a=1; Expires=Fri, 31 Dec 2100 23:59:59 GMT", "b=1, c=2"]
        await store(fields, from: plain, in: cookies)
        #expect(cookies.fields(ofResponseFrom: plain) == fields)
        #expect(cookies.fields(ofResponseFrom: secure) == nil)
    }
}
