import Foundation
import Testing

@testable import CurlNetworking

@Suite("Credentials in libcurl's trace")
struct TraceRedactionTests {
    static let redaction = TraceRedaction(fields: CurlOptions.Trace { _, _ in }.redactedFields)

    @Test(
        "Credentials are taken out of lines of heads",
        arguments: [
            ("Authorization: Basic dXNlcjpzZWNyZXQ=", "Authorization: Basic <redacted>"),
            ("authorization:Bearer s3cret", "authorization: Bearer <redacted>"),
            ("AUTHORIZATION: s3cret", "AUTHORIZATION: <redacted>"),
            ("Authorization: my s3cret", "Authorization: <redacted>"),
            (
                "Proxy-Authorization: Digest username=\"a\", response=\"s3cret\"",
                "Proxy-Authorization: Digest <redacted>"
            ),
            ("Cookie: a=s3cret; b=c", "Cookie: <redacted>"), ("Set-Cookie: a=s3cret; Path=/", "Set-Cookie: <redacted>"),
            ("Set-Cookie : a=s3cret", "Set-Cookie : <redacted>"), ("Cookie\t: a=s3cret", "Cookie\t: <redacted>"),
            ("Location: http://u:pa's3cret@host/", "Location: http://<redacted>@host/"),
            ("PASS s3cret", "PASS <redacted>"), ("pass s3cret", "pass <redacted>"), ("USER bob", "USER bob"),
            ("PASS \u{301}s3cret", "PASS <redacted>"), ("Set-Cookie:\u{301}a=s3cret", "Set-Cookie: <redacted>"),
            ("Location: http://user:s3cret@host/a@b", "Location: http://<redacted>@host/a@b"),
            ("GET http://s3cret@host:80/?x=//y@z HTTP/1.1", "GET http://<redacted>@host:80/?x=//<redacted>@z HTTP/1.1"),
            ("Referer: //user:p@s3cret@host", "Referer: //<redacted>@host"),
            ("Referer: //\u{301}s3cret@host", "Referer: //<redacted>@host"),
            ("From: me@example.com", "From: me@example.com"), ("Host: example.com", "Host: example.com"), ("", ""),
            ("HTTP/1.1 200 OK", "HTTP/1.1 200 OK"),
        ]
    )
    func headers(line: String, expected: String) {
        #expect(Self.redaction.headerLine(line, continuesSecret: false).line == expected)
    }

    @Test("A folded line is taken out with its field")
    func folded() {
        #expect(Self.redaction.headerLine("Cookie: a=b;", continuesSecret: false).isSecret)
        #expect(Self.redaction.headerLine("\ts3cret=1", continuesSecret: true).line == " <redacted>")
        #expect(Self.redaction.headerLine(" s3cret=1", continuesSecret: true).isSecret)
        #expect(Self.redaction.headerLine(" \u{301}s3cret=1", continuesSecret: true).line == " <redacted>")
        #expect(Self.redaction.headerLine("Accept: x", continuesSecret: true).line == "Accept: x")
    }

    @Test(
        "Credentials are taken out of libcurl's own messages",
        arguments: [
            ("h2h3 [authorization: Basic czNjcmV0]", "h2h3 [authorization: Basic <redacted>]"),
            ("h2h3 [cookie: a=[s3cret]; b]", "h2h3 [cookie: <redacted>]"), ("h2h3 [:path: /a]", "h2h3 [:path: /a]"),
            ("[HTTP/2] [1] [set-cookie: s3cret]", "[HTTP/2] [1] [set-cookie: <redacted>]"),
            ("h2h3 [authorization: s3cre", "h2h3 [authorization: <redacted>]"),
            ("Server auth using Basic with user 'bob'", "Server auth using Basic with user '<redacted>'"),
            ("Server auth using Basic with user '\u{301}bob'", "Server auth using Basic with user '<redacted>'"),
            (
                "Uses proxy env variable http_proxy == 'http://bob:s3/cret@proxy:80'",
                "Uses proxy env variable http_proxy == '<redacted>@proxy:80'"
            ),
            (
                "Uses proxy env variable http_proxy == 'bob:s3cret@proxy'",
                "Uses proxy env variable http_proxy == '<redacted>@proxy'"
            ),
            ("Uses proxy env variable no_proxy == 'localhost'", "Uses proxy env variable no_proxy == 'localhost'"),
            (
                "Issue another request to this URL: 'http://u:p's3cret@host/'",
                "Issue another request to this URL: 'http://<redacted>@host/'"
            ),
            ("Added cookie a=\"s3cret\" for domain x", "Added cookie <redacted>"),
            ("issuer: C=DE; emailAddress=ca@example.com", "issuer: C=DE; emailAddress=ca@example.com"),
            ("Connected to example.com (10.0.0.1) port 80 (#0)", "Connected to example.com (10.0.0.1) port 80 (#0)"),
        ]
    )
    func text(line: String, expected: String) {
        #expect(Self.redaction.text(line) == expected)
    }

    @Test("Fields that the program names are taken out as well")
    func ownFields() {
        let redaction = TraceRedaction(fields: ["X-Api-Key"])
        #expect(redaction.headerLine("x-api-key: s3cret", continuesSecret: false).line == "x-api-key: <redacted>")
        #expect(redaction.headerLine("Cookie: a", continuesSecret: false).line == "Cookie: a")
        #expect(redaction.text("h2h3 [x-api-key: s3cret]") == "h2h3 [x-api-key: <redacted>]")
    }
}
