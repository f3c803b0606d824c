import Foundation
import Testing

@testable import CurlNetworking

@Suite("URLs of Unix sockets")
struct UnixSocketURLTests {
    @Test(
        "A path begins with a slash, an abstract name with an at sign",
        arguments: [
            ("http+unix://%2Frun%2Fx.sock/p?q", CurlOptions.UnixSocket.path("/run/x.sock")),
            ("HTTPS+UNIX://%2frun%2fUpper%20Case/", .path("/run/Upper Case")),
            ("http+unix://%40name", .abstract("name")), ("http+unix://%40%2Fname", .abstract("/name")),
            ("http+unix://user:pw@%2Fa:b%40c/", .path("/a:b@c")),
            ("http+unix://%2F%CC%81/", .path("/\u{301}")), ("http+unix://%40%CC%81/", .abstract("\u{301}")),
        ]
    )
    func socket(url: String, expected: CurlOptions.UnixSocket) throws {
        // Where Foundation has no such URL, it can't be asked for.
        guard let url = URL(string: url) else { return }
        let origin = try #require(Origin(url))
        #expect(origin.isUnixSocket)
        #expect(UnixSocketURL.socket(named: origin.host) == expected)
    }

    @Test(
        "Another host is no socket, and such a URL has no origin",
        arguments: [
            "http+unix://localhost/", "http+unix:///path", "http+unix://run%2Fx.sock/", "http+unix://%40/",
            "http+unix://%2Frun%2Fx.sock:80/", "http+unix://%2Frun%2F%00/", "http+unix://%2F%FF/", "ftp+unix://%2Fa/",
            "http+unix:/run/x.sock", "http+unix://%2F" + String(repeating: "x", count: 107) + "/",
        ]
    )
    func none(url: String) throws {
        guard let url = URL(string: url) else { return }
        #expect(Origin(url) == nil)
    }

    @Test("Names are the same only if their bytes are, whatever Swift takes for equal")
    func equivalence() throws {
        for mark in ["%2F", "%40"] {
            let urls = try ["%C3%A9", "e%CC%81"].map { try Sample.url("http+unix://\(mark)\($0)/") }
            let origins = try urls.map { try #require(Origin($0)) }
            let sockets = origins.map { UnixSocketURL.socket(named: $0.host) }
            #expect(Set(origins).count == 2 && Set(sockets).count == 2)
            let request = URLRequest(url: urls[0])
            guard case .fail = RedirectPolicyTests.decision(302, urls[1].absoluteString, to: request) else {
                Issue.record("a redirect from one to the other")
                return
            }
        }
    }

    @Test("A socket's name may have 107 bytes")
    func longest() throws {
        #expect(try Origin(Sample.url("http+unix://%2F" + String(repeating: "x", count: 106))) != nil)
        #expect(try Origin(Sample.url("http+unix://%40" + String(repeating: "x", count: 107))) != nil)
    }

    static let different = [
        ("http+unix://%2Fa", "http+unix://%2FA"), ("http+unix://%2Fa", "https+unix://%2Fa"),
        ("http+unix://%2Fa", "http+unix://%40%2Fa"), ("http+unix://%2Flocalhost", "http://localhost"),
    ]

    @Test("Case, scheme and namespace make another origin", arguments: different)
    func origins(a: String, b: String) throws {
        #expect(try Origin(Sample.url(a)) != Origin(Sample.url(b)))
    }

    @Test("A TCP port of 0 doesn't make a Unix socket")
    func portZero() throws {
        #expect(try Origin(Sample.url("http://localhost:0/"))?.isUnixSocket == false)
    }

    @Test(
        "libcurl gets a URL of localhost",
        arguments: [
            ("http+unix://%2Frun%2Fx.sock/a%2Fb/../c?d=e//f#g", "http://localhost/a%2Fb/../c?d=e//f#g"),
            ("https+unix://%40x", "https://localhost"), ("HTTP+Unix://%2Fx?y", "http://localhost?y"),
            ("http+unix://u:p@%2Fx/@", "http://localhost/@"), ("http://host/+unix://x", "http://host/+unix://x"),
        ]
    )
    func transport(url: String, expected: String) throws {
        #expect(try Sample.transportURL(url) == expected)
    }

    @Test("A socket has no cookies, and is secure with TLS")
    func meaning() throws {
        #expect(try CookieTarget(Sample.url("http+unix://%2Fx/")) == nil)
        #expect(try Origin(Sample.url("https+unix://%2Fx/"))?.isSecure == true)
        #expect(try Origin(Sample.url("http+unix://%2Fx/"))?.isSecure == false)
    }

    @Test("Only the pattern for all hosts is about sockets")
    func patterns() throws {
        let origin = try #require(Origin(Sample.url("http+unix://%2Frun%2Fapi.example.com/")))
        #expect(HostPattern("*")?.matches(origin) == true)
        #expect(HostPattern("*.example.com")?.matches(origin) == false)
        #expect(HostPattern("*:80")?.matches(origin) == false)
        #expect(HostPattern("localhost")?.matches(origin) == false)
    }

    // MARK: - Redirects

    private func decision(_ location: String, from url: String) throws -> RedirectPolicy.Decision {
        try RedirectPolicyTests.decision(302, location, to: Sample.request(url, "GET", ["Authorization": "secret"]))
    }

    @Test(
        "No server leads into a socket, not even another socket's",
        arguments: [
            ("http://example.com/", "http+unix://%2Frun%2Fdocker.sock/"),
            ("https://example.com/", "https+unix://%40name/"),
            ("http+unix://%2Fa/", "http+unix://%2Fb/"), ("http+unix://%2Fa/", "http+unix://%40%2Fa/"),
            ("http://localhost/", "http+unix://%2Fa/"), ("http://example.com/", "http+unix://none/"),
        ]
    )
    func forbidden(from: String, to: String) throws {
        #expect(RedirectPolicyTests.failure(try decision(to, from: from)) == .unsupportedURL)
    }

    @Test(
        "A socket that is set for a host is one as well: only its own redirects lead there",
        arguments: [
            ("http://example.com/", "http://docker/", false), ("https://example.com/", "https://docker/", false),
            ("http://other/", "http://docker/", false), ("http+unix://%2Frun%2Fx/", "http://docker/", false),
            ("http://docker/", "http://docker/next", true), ("http://docker/", "http://same/", true),
            ("http://docker/", "http+unix://%2Frun%2Fdocker.sock/", true), ("http://docker/", "http://a/", true),
        ]
    )
    func configured(from: String, to: String, isFollowed: Bool) throws {
        let names = Sample.settings {
            $0.curl.hosts["docker"].names.unixSocket = .path("/run/docker.sock")
            $0.curl.hosts["same"].names.unixSocket = .path("/run/docker.sock")
            $0.curl.hosts["other"].names.unixSocket = .path("/run/other.sock")
        }.names
        let decision = RedirectPolicyTests.decision(302, to, to: try Sample.request(from), names: names)
        #expect(RedirectPolicyTests.failure(decision) == (isFollowed ? nil : .unsupportedURL))
    }

    @Test(
        "Redirects within a socket stay there, also by the name that the server is told",
        arguments: [
            ("/b?c", "http+unix://%2Frun%2Fx/b?c", true),
            ("http+unix://%2Frun%2Fx/b", "http+unix://%2Frun%2Fx/b", true),
            ("http://localhost/b?c", "http+unix://%2Frun%2Fx/b?c", true),
            ("http://localhost:80/b", "http+unix://%2Frun%2Fx/b", true),
            ("//localhost/b", "http+unix://localhost/b", false),
            ("https://localhost/b", "https://localhost/b", false),
            ("http://localhost:8080/b", "http://localhost:8080/b", false),
            ("http://example.com/", "http://example.com/", false),
        ]
    )
    func within(location: String, target: String, keepsCredentials: Bool) throws {
        switch try decision(location, from: "http+unix://%2Frun%2Fx/a") {
        case .follow(let next):
            #expect(next.url?.absoluteString == target)
            #expect((next.value(forHTTPHeaderField: "Authorization") != nil) == keepsCredentials)
        case .fail(let error): #expect(error.code == .unsupportedURL && location == "//localhost/b")
        case .deliver, .refuse: Issue.record("It is a redirect that is followed or fails.")
        }
    }
}
