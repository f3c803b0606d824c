import Foundation
import Testing

@testable import CurlNetworking

@Suite("URLs that are equivalent")
struct URLEquivalenceTests {
    static let spellings: [(String, [String])] = [
        (
            "http://example.com/a?b",
            ["http://example.com/a?b#c", "HTTP://example.com:80/a?b", "http://EXAMPLE.com/a?b"]
        ),
        ("https://example.com/", ["https://example.com", "https://example.com:443", "https://example.com#a"]),
        ("http://example.com/?a/b", ["http://example.com?a/b", "http://example.com:80?a/b#c"]),
        ("http://example.com:8080/", ["http://EXAMPLE.com:8080", "http://example.com:08080/"]),
        ("http://example.com:8080/?a", ["http://example.com:8080?a", "http://example.com:08080?a#/"]),
        ("https://example.com:80/", ["https://EXAMPLE.com:80"]),
        ("http://[::1]/a", ["HTTP://[::1]:80/a"]),
        ("http://[::1]:8080/a", ["HTTP://[::1]:8080/a"]),
        ("http://xn--bcher-kva.example/", ["http://b\u{fc}cher.example", "http://b%C3%BCcher.example:80/"]),
        ("http://127.0.0.1:81/a", ["http://127.1:81/a", "http://2130706433:81/a#b"]),
        ("http://u:p@example.com/a", ["http://u:p@EXAMPLE.com:80/a#b"]),
    ]

    @Test("URLs are equivalent however scheme, host, port, empty path and fragment are written", arguments: spellings)
    func same(text: String, others: [String]) throws {
        for other in [text] + others { #expect(try Sample.url(other).equivalentText == text, "\(other)") }
    }

    @Test("URLs with another path, query or user are not equivalent")
    func different() throws {
        let all = [
            "http://example.com/", "http://example.com/a", "http://example.com/A", "http://example.com/%61",
            "http://example.com/?", "http://u@example.com/", "http://example.com/a/", "http://www.example.com/",
        ]
        #expect(try all.map { try Sample.url($0).equivalentText } == all)
    }

    @Test("URLs of other schemes are equivalent only if they are the same without their fragments")
    func others() throws {
        for text in ["CUSTOM:thing", "ftp://A:21", "http+unix://%2FA/", "file:///A"] {
            #expect(try Sample.url(text + "#a").equivalentText == text)
        }
    }

    @Test(
        "A host that would be another one without its percent-encoding keeps that",
        arguments: ["a%2Fb", "a%40b", "a%3Fb"]
    )
    func encodedHost(host: String) throws {
        let text = "http://\(host)/c"
        #expect(try Sample.url(text).equivalentText == text)
    }
}
