import Foundation
import Testing

@testable import CurlNetworking

@Suite("Redirects")
struct RedirectPolicyTests {
    static func decision(
        _ status: Int,
        _ location: String?,
        to request: URLRequest,
        count: Int = 0,
        names: NameRules = Sample.settings().names
    ) -> RedirectPolicy.Decision {
        let head = location.map { Sample.head(status, ["Location": $0]) } ?? Sample.head(status)
        return RedirectPolicy.decision(for: head, to: request, count: count) { url in
            Origin(url).flatMap { names.unixSocket(for: $0) }
        }
    }

    static func followed(
        _ status: Int,
        _ location: String,
        to request: URLRequest,
        count: Int = 0,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> URLRequest {
        let decision = decision(status, location, to: request, count: count)
        guard case .follow(let next) = decision else {
            return try #require(nil as URLRequest?, "\(decision)", sourceLocation: sourceLocation)
        }
        return next
    }

    static func failure(_ decision: RedirectPolicy.Decision) -> URLError.Code? {
        if case .fail(let error) = decision { error.code } else { nil }
    }

    /// What a delegate is shown of a redirect to another scheme, and what the task fails with otherwise.
    static func refusal(_ decision: RedirectPolicy.Decision) -> (shown: URLRequest, code: URLError.Code)? {
        if case .refuse(let request, let error) = decision { (request, error.code) } else { nil }
    }

    static func isDelivered(_ decision: RedirectPolicy.Decision) -> Bool {
        if case .deliver = decision { true } else { false }
    }

    // MARK: - Methods and bodies (RFC 9110 §15.4)

    static let statuses = [301, 302, 303, 307, 308]
    static let allMethods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]

    static func methodAfter(_ status: Int, _ method: String) -> String {
        switch (status, method) {
        case (301, "POST"), (302, "POST"): "GET"
        case (303, "HEAD"): "HEAD"
        case (303, _): "GET"
        default: method
        }
    }

    @Test("Each status keeps or changes the method and the body as it should", arguments: allMethods, statuses)
    func methods(method: String, status: Int) throws {
        var request = try Sample.request(
            "http://example.com/a",
            method,
            ["Content-Type": "text/plain", "Content-Language": "en", "Accept": "*/*"]
        )
        request.httpBody = Data("body".utf8)
        let next = try Self.followed(status, "/b", to: request)
        let expected = Self.methodAfter(status, method)
        // After 303 the answer is at another resource, whatever was sent to the first.
        let keepsBody = expected == method && (status, method) != (303, "GET")
        #expect(next.httpMethod == expected)
        #expect(next.url?.absoluteString == "http://example.com/b")
        #expect(next.httpBody == (keepsBody ? request.httpBody : nil))
        #expect(next.value(forHTTPHeaderField: "Content-Type") == (keepsBody ? "text/plain" : nil))
        #expect(next.value(forHTTPHeaderField: "Content-Language") == (keepsBody ? "en" : nil))
        #expect(next.value(forHTTPHeaderField: "Accept") == "*/*", "what doesn't describe the body stays")
    }

    @Test("After 303, the fields of a resumed upload go with its body")
    func uploadFields() throws {
        let request = try Sample.request(
            "http://example.com/a",
            "PATCH",
            ["Upload-Draft-Interop-Version": "6", "Upload-Offset": "7", "Upload-Complete": "?1"]
        )
        #expect(try (Self.followed(303, "/b", to: request).allHTTPHeaderFields ?? [:]).isEmpty)
        #expect(try Self.followed(307, "/b", to: request).allHTTPHeaderFields == request.allHTTPHeaderFields)
    }

    @Test("Fields about a body go where the body goes (RFC 9110 §15.4), and Expect with them (§10.1.1)")
    func bodyFields() throws {
        let names = [
            "Content-Disposition", "Content-Digest", "Content-Encoding", "Content-Language", "Content-Length",
            "Content-Location", "Content-MD5", "Content-Range", "Content-Type", "Digest", "Expect", "Last-Modified",
            "Repr-Digest", "Trailer", "Transfer-Encoding",
        ]
        var request = try Sample.request(
            "http://example.com/a",
            "POST",
            ["Accept": "*/*", "Want-Repr-Digest": "sha-256=1"]
        )
        for name in names { request.setValue("1", forHTTPHeaderField: name) }
        for status in [301, 302, 303] {
            let next = try Self.followed(status, "/b", to: request)
            #expect(next.allHTTPHeaderFields == ["Accept": "*/*", "Want-Repr-Digest": "sha-256=1"])
        }
        for status in [307, 308] {
            #expect(try Self.followed(status, "/b", to: request).allHTTPHeaderFields == request.allHTTPHeaderFields)
        }
    }

    @Test("A request's properties for the transport survive a redirect")
    func settings() throws {
        var request = try Sample.request()
        request.timeoutInterval = 7
        request.cachePolicy = .reloadIgnoringLocalCacheData
        let next = try Self.followed(302, "/b", to: request)
        #expect(next.timeoutInterval == 7)
        #expect(next.cachePolicy == .reloadIgnoringLocalCacheData)
    }

    @Test("Other statuses are no redirects, whatever they name", arguments: [200, 201, 300, 304, 305, 306, 399, 404])
    func otherStatuses(status: Int) throws {
        #expect(try Self.isDelivered(Self.decision(status, "/b", to: Sample.request())))
    }

    // MARK: - Location

    @Test("A redirect without Location is the answer itself", arguments: statuses)
    func missingLocation(status: Int) throws {
        #expect(try Self.isDelivered(Self.decision(status, nil, to: Sample.request())))
    }

    @Test("A redirect with an empty Location is the answer itself", arguments: statuses)
    func emptyLocation(status: Int) throws {
        #expect(try Self.isDelivered(Self.decision(status, "", to: Sample.request())))
    }

    @Test(
        "A redirect to what is no URL fails",
        arguments: [
            "http://[", "http://a:port/", "http://[::1/", "http://exa mple.com:x/", "http://a:65536/", "//a:99999/",
        ]
    )
    func garbage(location: String) throws {
        let decision = try Self.decision(302, location, to: Sample.request())
        #expect(Self.failure(decision) == .redirectToNonExistentLocation)
    }

    @Test(
        "A redirect to anything but http and https is refused, and a delegate shown where it leads",
        arguments: [
            "ftp://example.com/", "file:///etc/passwd", "javascript:alert(1)", "data:,x", "gopher://x/", "about:blank",
            "myapp://callback?code=abc", "tcp://example.com:25", "ws://example.com/",
        ]
    )
    func otherSchemes(location: String) throws {
        let refusal = try #require(Self.refusal(Self.decision(302, location, to: Sample.request())))
        #expect(refusal.code == .unsupportedURL)
        #expect(refusal.shown.url?.absoluteString == location)
    }

    @Test("A delegate is shown a refused redirect's request without credentials, and without a body it won't have")
    func shownOfOtherScheme() throws {
        var request = try Sample.request("http://user:secret@example.com/a#part", "POST", Self.credentials)
        request.httpBody = Data("body".utf8)
        let refusal = try #require(Self.refusal(Self.decision(302, "myapp://callback?code=abc", to: request)))
        #expect(refusal.shown.url?.absoluteString == "myapp://callback?code=abc#part")
        #expect(refusal.shown.allHTTPHeaderFields == ["Accept": "*/*"])
        #expect(refusal.shown.httpMethod == "GET" && refusal.shown.httpBody == nil)
    }

    @Test(
        "A delegate's answer with a URL of the refused scheme is refused as well, and no other is",
        arguments: [
            ("myapp://callback", "myapp://callback", true), ("myapp://callback", "MYAPP://elsewhere", true),
            ("file:///etc/passwd", "FILE:///etc/hosts", true), ("data:,x", "data:,y", true),
            ("myapp://callback", "https://callback", false), ("ftp://a/", "ftps://a/", false),
            ("myapp://callback", "data:,x", false),
        ]
    )
    func answers(refused: String, answer: String, isRefused: Bool) throws {
        #expect(try RedirectPolicy.isRefused(Sample.request(answer), like: Sample.request(refused)) == isRefused)
    }

    @Test(
        "A redirect to an http URL without a host, or with something else than an IPv6 address in brackets, fails",
        arguments: [
            "http:///path", "https://", "http://:80/", "http://[localhost]/", "//[127.0.0.1]:80/", "https://[zz]",
            "http://[v1.a]/",
        ]
    )
    func noHost(location: String) throws {
        let decision = try Self.decision(302, location, to: Sample.request())
        #expect(Self.failure(decision) == .redirectToNonExistentLocation)
    }

    /// RFC 3986 §5.4.1 and §5.4.2, against `http://a/b/c/d;p?q`; without the empty reference and foreign schemes.
    static let rfcExamples = [
        ("g", "http://a/b/c/g"),
        ("./g", "http://a/b/c/g"),
        ("g/", "http://a/b/c/g/"),
        ("/g", "http://a/g"),
        ("//g", "http://g"),
        ("?y", "http://a/b/c/d;p?y"),
        ("g?y", "http://a/b/c/g?y"),
        ("#s", "http://a/b/c/d;p?q#s"),
        ("g#s", "http://a/b/c/g#s"),
        ("g?y#s", "http://a/b/c/g?y#s"),
        (";x", "http://a/b/c/;x"),
        ("g;x", "http://a/b/c/g;x"),
        ("g;x?y#s", "http://a/b/c/g;x?y#s"),
        (".", "http://a/b/c/"),
        ("./", "http://a/b/c/"),
        ("..", "http://a/b/"),
        ("../", "http://a/b/"),
        ("../g", "http://a/b/g"),
        ("../..", "http://a/"),
        ("../../", "http://a/"),
        ("../../g", "http://a/g"),
        ("../../../g", "http://a/g"),
        ("../../../../g", "http://a/g"),
        ("/./g", "http://a/g"),
        ("/../g", "http://a/g"),
        ("g.", "http://a/b/c/g."),
        (".g", "http://a/b/c/.g"),
        ("g..", "http://a/b/c/g.."),
        ("..g", "http://a/b/c/..g"),
        ("./../g", "http://a/b/g"),
        ("./g/.", "http://a/b/c/g/"),
        ("g/./h", "http://a/b/c/g/h"),
        ("g/../h", "http://a/b/c/h"),
        ("g;x=1/./y", "http://a/b/c/g;x=1/y"),
        ("g;x=1/../y", "http://a/b/c/y"),
        ("g?y/./x", "http://a/b/c/g?y/./x"),
        ("g?y/../x", "http://a/b/c/g?y/../x"),
        ("g#s/./x", "http://a/b/c/g#s/./x"),
        ("g#s/../x", "http://a/b/c/g#s/../x"),
    ]

    @Test("References are resolved as in the examples of RFC 3986 §5.4", arguments: rfcExamples)
    func references(reference: String, expected: String) throws {
        let next = try Self.followed(302, reference, to: Sample.request("http://a/b/c/d;p?q"))
        #expect(next.url?.absoluteString == expected)
    }

    @Test("Percent-encodings in the Location are left as they are")
    func encodings() throws {
        let location = "/a%2Fb/%7e?q=%C3%A4+b%20c"
        #expect(
            try Self.followed(302, location, to: Sample.request()).url?.absoluteString == "http://example.com"
                + location
        )
    }

    @Test(
        "Percent-encodings in the Location stay beside characters that have to be encoded",
        arguments: [
            ("/new%20folder/a b", "http://example.com/new%20folder/a%20b"),
            (
                "/login?next=https%3A%2F%2Fx.example%2F&s=a|b",
                "http://example.com/login?next=https%3A%2F%2Fx.example%2F&s=a%7Cb"
            ),
            ("/wiki/Zürich%2FKreis", "http://example.com/wiki/Z%C3%BCrich%2FKreis"),
            ("https://other.example/a%20b?c[1]#d e#f", "https://other.example/a%20b?c%5B1%5D#d%20e%23f"),
            ("//other.example/%C3%A4?ä", "http://other.example/%C3%A4?%C3%A4"),
            ("?a|b%20", "http://example.com/?a%7Cb%20"),
            ("/100%/%zz %41", "http://example.com/100%25/%25zz%20%41"), ("#%20 a", "http://example.com/#%20%20a"),
        ]
    )
    func partlyEncoded(location: String, expected: String) throws {
        let next = try Self.followed(302, location, to: Sample.request("http://example.com/"))
        #expect(next.url?.absoluteString == expected)
    }

    @Test("A host in Unicode may stand beside percent-encodings in the Location")
    func unicodeHost() throws {
        let next = try Self.followed(302, "https://zürich.example/a%20b c", to: Sample.request())
        #expect(next.url?.absoluteString == "https://xn--zrich-kva.example/a%20b%20c")
    }

    @Test("A Location that isn't quite a URL is mended rather than refused", arguments: ["/with space", "/ümlaut"])
    func sloppyLocation(location: String) throws {
        let next = try Self.followed(302, location, to: Sample.request())
        let path = try #require(next.url).path(percentEncoded: true)
        #expect(path.removingPercentEncoding == location)
        #expect(path.allSatisfy { $0.isASCII && $0 != " " })
    }

    @Test(
        "User name and password stay within the origin, unless the Location has its own",
        arguments: [
            ("http://u%40:p%3A@h/a", "http://h/b", "http://u%40:p%3A@h/b"),
            ("http://u%40:p%3A@h/a", "http://H:80/b#c", "http://u%40:p%3A@H:80/b#c"),
            ("http://u@h/a", "http://h/b", "http://u@h/b"),
            ("http://u:p@h/a", "//h/b", "http://u:p@h/b"),
            ("http://u:p@h/a", "b", "http://u:p@h/b"),
            ("http://u:p@h/a", "http://v@h/b", "http://v@h/b"),
            ("http://u:p@h/a", "http://:q@h/b", "http://:q@h/b"),
            ("http://u:p@h/a", "https://h/b", "https://h/b"),
            ("http://u:p@h/a", "http://h:81/b", "http://h:81/b"),
            ("http://u:p@h/a", "http://i/b", "http://i/b"),
            ("http://h/a", "http://h/b", "http://h/b"),
            ("http+unix://u:p@%2Fs/a", "http://localhost/b", "http+unix://u:p@%2Fs/b"),
        ]
    )
    func userInformation(url: String, location: String, expected: String) throws {
        let next = try Self.followed(302, location, to: Sample.request(url))
        #expect(next.url?.absoluteString == expected)
    }

    @Test("A fragment is inherited unless the Location has its own (RFC 9110 §10.2.2)")
    func fragments() throws {
        let request = try Sample.request("http://example.com/a#old%20one")
        #expect(try Self.followed(302, "/b", to: request).url?.absoluteString == "http://example.com/b#old%20one")
        #expect(try Self.followed(302, "/b#new", to: request).url?.absoluteString == "http://example.com/b#new")
        #expect(try Self.followed(302, "/b#", to: request).url?.fragment != "old one")
    }

    // MARK: - Origins

    static let credentials: KeyValuePairs<String, String> = [
        "Authorization": "Bearer secret", "Proxy-Authorization": "Basic c2VjcmV0", "Cookie": "a=b",
        "Cookie2": "$Version=1",
        "Host": "example.com", "Accept": "*/*",
    ]

    @Test(
        "Credentials stay behind when scheme, host or port changes",
        arguments: [
            "http://example.com/b", "https://evil.example/b", "https://example.com:8443/b", "//www.example.com/b",
        ]
    )
    func strippedCredentials(location: String) throws {
        let request = try Sample.request("https://example.com/a", "GET", Self.credentials)
        let next = try Self.followed(307, location, to: request)
        #expect(next.allHTTPHeaderFields == ["Accept": "*/*"])
    }

    @Test(
        "Credentials go along within an origin",
        arguments: ["/b", "https://EXAMPLE.com:443/b", "https://example.com"]
    )
    func keptCredentials(location: String) throws {
        let request = try Sample.request("https://example.com/a", "GET", Self.credentials)
        let next = try Self.followed(307, location, to: request)
        #expect(next.allHTTPHeaderFields == request.allHTTPHeaderFields)
    }

    @Test("The user name and password of the redirecting URL do not reach another host")
    func userInfo() throws {
        let request = try Sample.request("http://user:secret@example.com/a")
        for location in ["http://evil.example/b", "//evil.example/b"] {
            let next = try Self.followed(302, location, to: request)
            #expect(next.url?.user == nil)
            #expect(next.url?.password == nil)
        }
    }

    @Test("https may lead to http, without credentials")
    func downgrade() throws {
        let request = try Sample.request("https://example.com/a", "GET", Self.credentials)
        let next = try Self.followed(302, "http://example.com/a", to: request)
        #expect(next.url?.scheme == "http")
        #expect(next.value(forHTTPHeaderField: "Authorization") == nil)
    }

    @Test("Referer goes along, but not from https to http (RFC 9110 §10.1.3)")
    func referer() throws {
        func referer(from url: String, to location: String) throws -> String? {
            let request = try Sample.request(url, "GET", ["Referer": "https://example.com/page"])
            return try Self.followed(302, location, to: request).value(forHTTPHeaderField: "Referer")
        }
        for location in ["http://example.com/a", "HTTP://other.example/"] {
            #expect(try referer(from: "https://example.com/a", to: location) == nil)
        }
        for location in ["/b", "https://other.example/"] {
            #expect(try referer(from: "https://example.com/a", to: location) != nil)
        }
        for location in ["/b", "https://example.com/", "http://other.example/"] {
            #expect(try referer(from: "http://example.com/a", to: location) != nil)
        }
    }

    // MARK: - Limit

    @Test("Twenty redirects are followed, and the next one fails")
    func limit() throws {
        _ = try Self.followed(302, "/b", to: Sample.request(), count: 19)
        for location in ["/b", "myapp://callback"] {
            let decision = try Self.decision(302, location, to: Sample.request(), count: 20)
            #expect(Self.failure(decision) == .httpTooManyRedirects)
        }
        #expect(try Self.isDelivered(Self.decision(200, "/b", to: Sample.request(), count: 20)))
    }
}
