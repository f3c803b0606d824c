import Foundation
import Testing

@testable import CurlNetworking

@Suite("A data URL")
struct DataURLTests {
    private func decode(_ text: String) throws -> DataURL {
        try DataURL(try #require(URL(string: text)))
    }

    @Test(
        "A data URL carries text, percent-encoded where it must be",
        arguments: [
            ("data:,hello", "hello"), ("data:,a%20b%2Cc", "a b,c"), ("data:text/plain,%E2%82%AC", "€"), ("data:,", ""),
            ("data:,a,b,c", "a,b,c"), ("DATA:,x", "x"), ("data:,x?y=1", "x?y=1"), ("data:,x#fragment", "x"),
            ("data:foo;base64x,aGk=", "aGk="), ("data:,a+b", "a+b"),
        ]
    )
    func text(url: String, content: String) throws {
        #expect(try decode(url).content == Data(content.utf8))
    }

    @Test(
        "A data URL carries base64, with or without padding and with white space",
        arguments: [
            "data:;base64,aGVsbG8=", "data:;base64,aGVsbG8", "data:;base64,aGVs%0AbG8%3D",
            "data:text/plain;BASE64,aGVsbG8=", "data:text/plain; base64,aGVsbG8=", "data:;base64%20,aGVsbG8=",
            "data:text/plain;charset=utf-8;base64,aGVsbG8=", "data:;base64,aGVs%20bG8=",
        ]
    )
    func base64(url: String) throws {
        #expect(try decode(url).content == Data("hello".utf8))
    }

    @Test(
        "A data URL names its media type and charset, in quotes or not, or is plain ASCII text",
        arguments: [
            ("data:,x", "text/plain", "US-ASCII"), ("data:;base64,eA==", "text/plain", "US-ASCII"),
            ("data:;charset=utf-8,x", "text/plain", "utf-8"),
            ("data:text/html;charset=ISO-8859-1,x", "text/html", "ISO-8859-1"),
            ("data:application/json,{}", "application/json", nil), ("data:IMAGE/PNG;base64,eA==", "image/png", nil),
            ("data:nonsense,x", "text/plain", "US-ASCII"), ("data:;a=b,x", "text/plain", nil),
            ("data:a_b;charset=utf-8;c=d,x", "text/plain", "US-ASCII"), ("data:a/b/c;d=e,x", "text/plain", "US-ASCII"),
            ("data:text/plain;charset=%22utf-8%22,x", "text/plain", "utf-8"),
            ("data:text/plain;charset=\"utf-8\",x", "text/plain", "utf-8"),
            ("data:text/plain;charset=%75tf-8,x", "text/plain", "utf-8"),
            ("data: text/html ; charset=utf-8,x", "text/html", "utf-8"),
            ("data:text/plain;a=b;charset=utf-16,x", "text/plain", "utf-16"),
        ] as [(String, String, String?)]
    )
    func mediaType(url: String, type: String, charset: String?) throws {
        let decoded = try decode(url)
        #expect(decoded.mimeType == type)
        #expect(decoded.charset == charset)
    }

    @Test(
        "A damaged data URL is a bad one, and the error says why",
        arguments: [
            ("data:", "comma"), ("data:text/plain", "comma"), ("data:;base64,a", "base64"),
            ("data:;base64,aGVsbG8*", "base64"),
            ("data:;base64,aG=VsbG8", "base64"), ("data:;base64,aGVsbG8===", "base64"), ("data:#,x", "comma"),
        ]
    )
    func damaged(url: String, reason: String) throws {
        let error = #expect(throws: URLError.self) { try decode(url) }
        #expect(error?.code == .badURL)
        #expect(error?.localizedDescription.contains(reason) == true)
    }
}
