import CurlTransport
import Foundation
import Testing

@testable import CurlNetworking

@Suite("What libcurl is told about a request")
struct RequestEncoderTests {
    static func options(
        _ request: URLRequest,
        body: (any RequestBody)? = nil,
        additional: [AnyHashable: Any]? = nil
    ) throws -> TransferOptions {
        try RequestEncoder.options(
            for: request,
            at: Sample.origin(of: request.url ?? Sample.url("http://example.com/")),
            body: body,
            settings: Sample.settings { $0.httpAdditionalHeaders = additional }
        )
    }

    static func options(_ url: String) throws -> TransferOptions {
        try options(Sample.request(url))
    }

    static func error(_ request: URLRequest) -> URLError.Code? {
        do {
            _ = try options(request)
            return nil
        } catch {
            return (error as? URLError)?.code
        }
    }

    static func lines(_ options: TransferOptions, named name: String) -> [String] {
        options.headers.filter { line in
            line.prefix { $0 != ":" && $0 != ";" }.lowercased() == name.lowercased()
        }
    }

    // MARK: - URLs

    @Test(
        "URLs go out as they are",
        arguments: [
            "http://example.com", "http://example.com/a%2Fb%20c/../d?x=%C3%A4&y=+&z=%zz", "http://[::1]:8080/x",
            "http://xn--bcher-kva.example/", "https://example.com:8443/?q", "http://example.com/a;b=c,d@e:f",
            "http://127.0.0.1/%",
        ]
    )
    func untouched(url: String) throws {
        guard let parsed = URL(string: url) else { return }
        let options = try Self.options(URLRequest(url: parsed))
        #expect(options.url == parsed.absoluteString)
        if !url.contains("%zz"), !url.hasSuffix("%") { #expect(options.url == url) }
        #expect(options.credentials == nil)
        #expect(options.method == "GET")
        #expect(options.body == .none)
    }

    static let userInfos: [(String, String, String, String)] = [
        ("http://user:pass@example.com/a", "http://example.com/a", "user", "pass"),
        ("http://user@example.com/", "http://example.com/", "user", ""),
        ("http://user:@example.com:81", "http://example.com:81", "user", ""),
        ("http://:pass@example.com/", "http://example.com/", "", "pass"),
        ("http://us%65r:p%40ss%3Aword@example.com/", "http://example.com/", "user", "p@ss:word"),
        ("http://user:a:b@example.com/", "http://example.com/", "user", "a:b"),
        ("http://%C3%BC:%E2%82%AC@[::1]:80/?a@b", "http://[::1]/?a@b", "ü", "€"),
        ("http://user:pass@example.com/x@y:z", "http://example.com/x@y:z", "user", "pass"),
        ("http://user:pass@example.com?a@b", "http://example.com?a@b", "user", "pass"),
    ]

    @Test("User name and password leave the URL, percent-decoded", arguments: userInfos)
    func userInfo(url: String, bare: String, user: String, password: String) throws {
        let options = try Self.options(url)
        #expect(options.url == bare)
        let credentials = try #require(options.credentials)
        #expect(credentials.user == user)
        #expect(credentials.password == password)
    }

    @Test(
        "libcurl gets the host that everything is decided for, in ASCII, and so reads no other in any locale",
        arguments: [
            ("http://127.1/a?b", "http://127.0.0.1/a?b"), ("http://0x7f.1:81", "http://127.0.0.1:81"),
            ("https://[0:0::1]:443/", "https://[::1]/"), ("http://[fe80::1%25a]:8/", "http://[fe80::1%25a]:8/"),
            ("https://%EF%BD%8Cocalhost:444/a%2Fb", "https://localhost:444/a%2Fb"),
            ("http://a%E3%80%82localhost/?#", "http://a.localhost/?#"), ("http://%65xample.com", "http://example.com"),
            ("http://u:p@B%C3%9CCHER.example/", "http://xn--bcher-kva.example/"),
            ("HTTP://EXAMPLE.com/A", "http://EXAMPLE.com/A"), ("http://\u{212A}.example/", "http://k.example/"),
        ]
    )
    func hosts(url: String, expected: String) throws {
        #expect(try Self.options(url).url == expected)
    }

    @Test(
        "libcurl gets the host that everything is decided for with FTP and streams as well",
        arguments: [
            ("ftp://%6Cocalhost/a;type=i", "ftp://localhost/a;type=i"), ("ftp://127.1:22/", "ftp://127.0.0.1:22/"),
            ("tcp://127.1:7", "tcp://127.0.0.1:7"), ("tcp://[::1]:7", "tcp://[::1]:7"),
        ]
    )
    func hostsOfOthers(url: String, expected: String) throws {
        #expect(try Sample.transportURL(url) == expected)
    }

    @Test(
        "An @ behind the authority is no user name",
        arguments: ["http://example.com/@a", "http://example.com?a:b@c", "http://example.com/#a@b"]
    )
    func noUserInfo(url: String) throws {
        let options = try Self.options(url)
        #expect(options.url == url)
        #expect(options.credentials == nil)
    }

    @Test("An empty user name and password are none")
    func emptyUserInfo() throws {
        for url in ["http://@example.com/", "http://:@example.com/"] {
            let options = try Self.options(url)
            #expect(options.url == "http://example.com/")
            #expect(options.credentials == nil)
        }
    }

    @Test(
        "A user name or password that is no text, or would be another's, is refused",
        arguments: [
            "http://a%00b@example.com/", "http://a:%00@example.com/", "http://%ff@example.com/",
            "http://a%3Ab:c@example.com/", "http://a%3A%CC%81b:c@example.com/",
        ]
    )
    func invalidUserInfo(url: String) throws {
        #expect(try Self.error(Sample.request(url)) == .badURL)
    }

    @Test("An Authorization field of the caller's outweighs the URL's user")
    func authorization() throws {
        let options = try Self.options(
            Sample.request("http://user:pass@example.com/", "GET", ["authorization": "Bearer x"])
        )
        #expect(options.url == "http://example.com/")
        #expect(options.credentials == nil)
        #expect(Self.lines(options, named: "Authorization").count == 1)
    }

    @Test("A request without a URL is refused")
    func noURL() throws {
        var request = try Sample.request()
        request.url = nil
        #expect(Self.error(request) == .unsupportedURL)
    }

    static let originCases: [(String, URLError.Code?)] = [
        ("http://example.com/", nil), ("https://example.com/", nil), ("http:///x", .badURL), ("https:x", .badURL),
        ("ftp://example.com/", nil), ("ftps://example.com/", nil), ("ftp:///x", .badURL), ("ftps:x", .badURL),
        ("gopher://example.com/", .unsupportedURL), ("x", .unsupportedURL),
    ]

    @Test("Only http, https, ftp and ftps URLs with a host have somewhere to go", arguments: originCases)
    func origins(url: String, expected: URLError.Code?) throws {
        let request = try Sample.request(url)
        do {
            let origin = try Origin.of(request)
            #expect(origin != nil)
            #expect(expected == nil)
        } catch {
            #expect(error.code == expected)
        }
    }

    @Test("A URL of this machine's files has no origin", arguments: ["file:///etc/passwd", "data:,x"])
    func local(url: String) throws {
        #expect(try Origin.of(Sample.request(url)) == nil)
    }

    // MARK: - Method and headers

    @Test("A method that is no token is refused", arguments: ["GE T", "GET\r\nX: y", "GET\u{0}", "GÄT", "GET /"])
    func methods(method: String) throws {
        var request = try Sample.request()
        request.httpMethod = method
        // Foundation may have refused it already.
        guard request.httpMethod == method else { return }
        #expect(Self.error(request) == .badURL)
    }

    @Test("Any token is a method")
    func customMethod() throws {
        #expect(try Self.options(Sample.request("http://example.com/", "M-SEARCH")).method == "M-SEARCH")
    }

    @Test("Fields become lines, and one without a value is sent empty")
    func fieldLines() throws {
        let options = try Self.options(Sample.request("http://example.com/", "GET", ["X-A": "b", "X-Empty": ""]))
        #expect(Self.lines(options, named: "X-A") == ["X-A: b"])
        #expect(Self.lines(options, named: "X-Empty") == ["X-Empty;"])
    }

    @Test("White space that only Unicode knows is a value", arguments: ["\u{A0}", "\u{2003}\u{3000}"])
    func unicodeSpace(value: String) throws {
        let options = try Self.options(Sample.request("http://example.com/", "GET", ["X-A": value, "X-B": " \t"]))
        #expect(Self.lines(options, named: "X-A") == ["X-A: " + value])
        #expect(Self.lines(options, named: "X-B") == ["X-B;"])
    }

    @Test("User-Agent and Accept-Language have defaults, which request and session replace")
    func defaults() throws {
        let options = try Self.options(Sample.request())
        let agent = try #require(Self.lines(options, named: "User-Agent").first)
        #expect(agent.contains(ProcessInfo.processInfo.processName))
        #expect(agent.hasSuffix("curl/\(CurlLibrary.versionText)"))
        #expect(Self.lines(options, named: "Accept-Language").count == 1)

        let own = try Self.options(
            Sample.request("http://example.com/", "GET", ["User-Agent": "me"]),
            additional: ["ACCEPT-LANGUAGE": "fr", "user-agent": "the session"]
        )
        #expect(Self.lines(own, named: "User-Agent") == ["User-Agent: me"])
        #expect(Self.lines(own, named: "Accept-Language") == ["ACCEPT-LANGUAGE: fr"])
    }

    @Test("Languages go out with falling weights")
    func languages() {
        #expect(RequestEncoder.acceptLanguage([]) == "en")
        #expect(RequestEncoder.acceptLanguage(["de"]) == "de")
        #expect(RequestEncoder.acceptLanguage(["en-001", "de"]) == "en,de;q=0.9")
        #expect(RequestEncoder.acceptLanguage(["de-DE", "en", "fr"]) == "de-DE,en;q=0.9,fr;q=0.8")
        let many = RequestEncoder.acceptLanguage((0..<20).map { "l\($0)" })
        #expect(many.hasSuffix("l8;q=0.2"))
    }

    @Test("A request for a part accepts no coding unless it says itself which")
    func parts() throws {
        let range = ("Range", "bytes=5-9")
        func codings(_ headers: KeyValuePairs<String, String>) throws -> [String] {
            let options = try Self.options(Sample.request("http://example.com/", "GET", headers))
            return Self.lines(options, named: "Accept-Encoding")
        }
        #expect(try codings([range.0: range.1]) == ["Accept-Encoding: identity"])
        #expect(try codings([range.0: range.1, "Accept-Encoding": "br"]) == ["Accept-Encoding: br"])
        #expect(try codings([:]) == ContentCoding.offer.map { ["Accept-Encoding: \($0)"] } ?? [])
        let session = try Self.options(Sample.request(), additional: [range.0: range.1])
        #expect(Self.lines(session, named: "Accept-Encoding") == ["Accept-Encoding: identity"])
    }

    @Test("A request for a part accepts no coding if libcurl writes the field, which the program may change")
    func partsByLibcurl() throws {
        let settings = Sample.settings { $0.curl.configureTransfer = { _, _ in } }
        let origin = try Sample.origin(of: Sample.url("http://example.com/"))
        let whole = try RequestEncoder.options(for: Sample.request(), at: origin, body: nil, settings: settings)
        #expect(whole.acceptEncoding == ContentCoding.offer)
        let request = try Sample.request("http://example.com/", "GET", ["Range": "bytes=5-9"])
        let part = try RequestEncoder.options(for: request, at: origin, body: nil, settings: settings)
        #expect(part.acceptEncoding == "identity")
        #expect(Self.lines(part, named: "Accept-Encoding") == [])
    }

    // MARK: - Bodies

    @Test("A body's length is told if it is known, and it is sent in chunks otherwise, without waiting for a 100")
    func bodies() throws {
        let request = try Sample.request("http://example.com/", "PUT")
        let known = try Self.options(request, body: DataBody(Data("abc".utf8)))
        #expect(known.body == .known(3))
        #expect(Self.lines(known, named: "Expect") == ["Expect:"])
        #expect(try Self.options(request, body: DataBody(Data())).body == .known(0))
        let streamed = StreamedBody(InputStream(data: Data()), length: nil, url: nil) {}
        defer { streamed.close() }
        #expect(try Self.options(request, body: streamed).body == .chunked)
        #expect(try Self.lines(Self.options(request), named: "Expect") == [])
    }

    @Test("A caller's own Expect is sent")
    func expect() throws {
        let request = try Sample.request("http://example.com/", "PUT", ["Expect": "100-continue"])
        let options = try Self.options(request, body: DataBody(Data("abc".utf8)))
        #expect(Self.lines(options, named: "Expect") == ["Expect: 100-continue"])
    }

    @Test("Only the httpBody of a POST gets a Content-Type by itself")
    func contentType() throws {
        let body = Data("a=b".utf8)
        func type(_ method: String, _ headers: KeyValuePairs<String, String> = [:], httpBody: Data?) throws -> [String]
        {
            var request = try Sample.request("http://example.com/", method, headers)
            request.httpBody = httpBody
            return Self.lines(try Self.options(request, body: DataBody(httpBody ?? body)), named: "Content-Type")
        }
        #expect(try type("POST", httpBody: body) == ["Content-Type: application/x-www-form-urlencoded"])
        #expect(try type("POST", ["Content-Type": "text/plain"], httpBody: body) == ["Content-Type: text/plain"])
        #expect(try type("PUT", httpBody: body) == [])
        #expect(try type("POST", httpBody: nil) == [], "an upload task's body is not the request's")
        #expect(try type("POST", httpBody: Data()) == [])
        let stream = StreamedBody(InputStream(data: body), length: nil, url: nil) {}
        let streamed = try Self.options(Sample.request("http://example.com/", "POST"), body: stream)
        #expect(Self.lines(streamed, named: "Content-Type").count == 1)
    }

    @Test(
        "White space around a value isn't a part of it",
        arguments: [("x ", "X-A: x"), (" \tx y\t", "X-A: x y"), (" ", "X-A;"), ("", "X-A;")]
    )
    func whiteSpace(value: String, line: String) throws {
        let options = try Self.options(Sample.request("http://example.com/", "GET", ["X-A": value]), body: nil)
        #expect(options.headers.filter { $0.hasPrefix("X-A") } == [line])
    }

    @Test(
        "Every method has its body",
        arguments: ["GET", "HEAD", "PUT"]
    )
    func bodyOfEveryMethod(method: String) throws {
        let request = try Sample.request("http://example.com/", method)
        let options = try Self.options(request, body: DataBody(Data("body".utf8)))
        #expect(options.body == .known(4))
    }

    @Test("Replacing headers drops the old lines of those names, however they are spelt")
    func replacing() {
        var options = TransferOptions(
            url: "http://a/",
            method: "GET",
            headers: ["range: x", "Range;", "RANGE:", "Ranger: y", "A: b"]
        )
        options.replaceHeaders([HeaderField(name: "Range", value: "bytes=1-")])
        #expect(options.headers == ["Ranger: y", "A: b", "Range: bytes=1-"])
    }
}

extension Sample {
    /// That of a task for `url`, of whichever kind.
    static func origin(of url: URL) throws -> Origin {
        try #require(Origin(url) ?? Origin.ofFTP(url) ?? Origin.ofStream(URLRequest(url: url)))
    }

    /// What libcurl gets of it.
    static func transportURL(_ url: String) throws -> String {
        let url = try Self.url(url)
        return try RequestEncoder.transportURL(of: url, at: origin(of: url)).url
    }
}
