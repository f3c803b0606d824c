import Foundation
import Testing

@testable import CurlNetworking

@Suite("The fields of resumable uploads")
struct UploadFieldTests {
    static func lines(_ fields: [HeaderField]) -> [String] { fields.map { "\($0.name): \($0.value)" } }

    @Test("The upload's own request offers to resume it, in the words of its version")
    func creation() {
        #expect(
            Self.lines(UploadVersion.v3.creationFields(length: 100)) == [
                "Upload-Draft-Interop-Version: 3", "Upload-Incomplete: ?0",
            ]
        )
        #expect(
            Self.lines(UploadVersion.v6.creationFields(length: 100)) == [
                "Upload-Draft-Interop-Version: 6", "Upload-Complete: ?1",
            ]
        )
        #expect(
            Self.lines(UploadVersion.v8.creationFields(length: 100)) == [
                "Upload-Draft-Interop-Version: 8", "Upload-Complete: ?1", "Upload-Length: 100",
            ]
        )
        #expect(
            Self.lines(UploadVersion.v8.creationFields(length: nil)) == [
                "Upload-Draft-Interop-Version: 8", "Upload-Complete: ?1",
            ]
        )
    }

    @Test("The rest says where it begins, and what it is from version 6 on")
    func append() {
        #expect(
            Self.lines(UploadVersion.v3.appendFields(UploadRest(from: 40, of: 100))) == [
                "Upload-Draft-Interop-Version: 3", "Upload-Offset: 40", "Upload-Incomplete: ?0",
            ]
        )
        #expect(
            Self.lines(UploadVersion.v5.appendFields(UploadRest(from: 40, of: 100))) == [
                "Upload-Draft-Interop-Version: 5", "Upload-Offset: 40", "Upload-Complete: ?1",
            ]
        )
        #expect(
            Self.lines(UploadVersion.v6.appendFields(UploadRest(from: 40, of: 100))) == [
                "Upload-Draft-Interop-Version: 6", "Upload-Offset: 40", "Upload-Complete: ?1",
                "Content-Type: application/partial-upload",
            ]
        )
        #expect(
            Self.lines(UploadVersion.v8.appendFields(UploadRest(from: 40, of: 100))) == [
                "Upload-Draft-Interop-Version: 8", "Upload-Offset: 40", "Upload-Complete: ?1", "Upload-Length: 100",
                "Content-Type: application/partial-upload",
            ]
        )
    }

    @Test(
        "An offset is a number that isn't negative, of at most 15 digits; anything else is none (RFC 9651 §3.3.1)",
        arguments: [
            ("0", 0), ("25000000", 25_000_000), ("999999999999999", 999_999_999_999_999), ("7;a=b", 7), (" 7 ", 7),
            ("1000000000000000", nil), ("-1", nil), ("+1", nil), ("", nil), ("1.0", nil), ("1, 2", nil), ("0x10", nil),
            ("ten", nil), ("١", nil), ("\"1\"", nil), ("99999999999999999999999999", nil),
        ] as [(String, Int64?)]
    )
    func offsets(value: String, offset: Int64?) {
        #expect(Sample.head(204, ["upload-offset": value]).uploadOffset == offset)
    }

    @Test("Two fields are no item, even if they are the same")
    func twice() {
        #expect(Sample.head(204, ["Upload-Offset": "1", "upload-offset": "1"]).uploadOffset == nil)
        #expect(
            Sample.head(104, ["Upload-Draft-Interop-Version": "6", "upload-draft-interop-version": "6"]).uploadVersion
                == nil
        )
    }

    @Test("Complete is what either version's field says, and nothing but ?1 and ?0 counts")
    func complete() {
        #expect(Sample.head(204, ["Upload-Complete": "?1"]).isUploadComplete == true)
        #expect(Sample.head(204, ["Upload-Complete": "?0"]).isUploadComplete == false)
        #expect(Sample.head(204, ["Upload-Incomplete": "?1"]).isUploadComplete == false)
        #expect(Sample.head(204, ["Upload-Incomplete": "?0"]).isUploadComplete == true)
        #expect(Sample.head(204, ["Upload-Complete": "1"]).isUploadComplete == nil)
        #expect(Sample.head(204, ["Upload-Complete": "true"]).isUploadComplete == nil)
        #expect(Sample.head(204).isUploadComplete == nil)
    }

    @Test("A piece that isn't the last is called incomplete")
    func pieces() {
        let piece = UploadRest(from: 40, of: 100, upTo: 70)
        #expect(Self.lines(UploadVersion.v3.appendFields(piece)).contains("Upload-Incomplete: ?1"))
        #expect(Self.lines(UploadVersion.v8.appendFields(piece)).contains("Upload-Complete: ?0"))
        #expect(piece.length == 30)
    }

    @Test("The limit of what may be appended is one member of a dictionary, and the last of that name counts")
    func limits() {
        for (value, limit) in [
            ("max-append-size=400", 400), ("max-size=9, max-append-size=400", 400), ("max-append-size=400;a=b,b", 400),
            ("max-append-size=1, max-append-size=2", 2), (" max-append-size=400 , c", 400), ("", nil),
            ("max-append-size", nil), ("max-append-size=0", nil), ("max-append-size=-1", nil),
            ("max-append-size=1000000000000000", nil), ("max-append-size=999999999999999", 999_999_999_999_999),
            ("Max-Append-Size=5", nil), ("min-append-size=5", nil), ("max-append-size=5, max-append-size", nil),
            ("a=\"b, max-append-size=5\"", nil), ("a=\"b, max-append-size=5", nil),
            ("a=\"b;c\";d=\"e, \\\"f\", max-append-size=5", 5),
        ] as [(String, Int64?)] {
            #expect(Sample.head(204, ["Upload-Limit": value]).uploadAppendLimit == limit, "\(value)")
        }
        #expect(Sample.head(204, ["Upload-Limit": "a", "upload-limit": "max-append-size=7"]).uploadAppendLimit == 7)
    }

    @Test("Versions 3 to 8 are known", arguments: 0...10)
    func versions(number: Int) {
        let head = Sample.head(104, ["Upload-Draft-Interop-Version": "\(number)"])
        #expect(head.uploadVersion?.rawValue == ((3...8).contains(number) ? number : nil))
    }
}

@Suite("The resource of a resumable upload")
struct UploadResourceTests {
    static func offered(_ location: String, to base: String = "https://example.com/files?a=b#c") throws -> String? {
        let head = Sample.head(104, ["Upload-Draft-Interop-Version": "6", "Location": location])
        return UploadResource(offeredBy: head, to: try Sample.url(base))?.url.absoluteString
    }

    @Test("The 104's Location is relative to the request's URL")
    func location() throws {
        #expect(try Self.offered("/uploads/1") == "https://example.com/uploads/1")
        #expect(try Self.offered("uploads/1") == "https://example.com/uploads/1")
        #expect(try Self.offered("https://example.com:443/uploads/1") == "https://example.com:443/uploads/1")
        #expect(try Self.offered("//EXAMPLE.com/uploads/1") == "https://EXAMPLE.com/uploads/1")
    }

    @Test("The resource has the user name and password of the request's URL, unless it has its own")
    func userInformation() throws {
        let base = "https://me:secret@example.com/files"
        #expect(try Self.offered("/uploads/1", to: base) == "https://me:secret@example.com/uploads/1")
        #expect(try Self.offered("https://example.com/1", to: base) == "https://me:secret@example.com/1")
        #expect(try Self.offered("https://you@example.com/1", to: base) == "https://you@example.com/1")
    }

    @Test(
        "A resource at another origin, of another scheme, or that is no URL, isn't used",
        arguments: [
            "https://evil.example/uploads/1", "http://example.com/uploads/1", "https://example.com:8443/uploads/1",
            "//evil.example/1", "file:///etc/passwd", "ftp://example.com/1", "http+unix://%2Frun%2Fdocker.sock/1",
            "data:,1", "https://example.com.evil.example/", "https://example.com@evil.example/", "https://",
            "http://[::",
        ]
    )
    func elsewhere(location: String) throws {
        #expect(try Self.offered(location) == nil)
    }

    @Test("A 104 needs a version that is known, and a Location")
    func incomplete() throws {
        let base = try Sample.url("https://example.com/")
        for fields: KeyValuePairs<String, String> in [
            ["Location": "/1"], ["Upload-Draft-Interop-Version": "6"],
            ["Location": "/1", "Upload-Draft-Interop-Version": "2"],
            ["Location": "/1", "Upload-Draft-Interop-Version": "six"],
        ] {
            #expect(UploadResource(offeredBy: Sample.head(104, fields), to: base) == nil)
        }
        let early = Sample.head(103, ["Location": "/1", "Upload-Draft-Interop-Version": "6"])
        #expect(UploadResource(offeredBy: early, to: base) == nil)
    }

    @Test("The resource's requests have the upload's fields, except those about the body and conditions")
    func requests() throws {
        var request = try Sample.request(
            "https://example.com/files",
            "POST",
            [
                "Authorization": "Bearer a", "X-Key": "k", "Content-Type": "image/png", "Content-Length": "100",
                "Content-Disposition": "inline", "If-Match": "*", "Expect": "100-continue", "Digest": "x",
            ]
        )
        request.httpBody = Data("body".utf8)
        let resource = UploadResource(url: try Sample.url("https://example.com/uploads/1"), version: .v6)
        let question = resource.offsetRequest(like: request)
        #expect(question.httpMethod == "HEAD" && question.url == resource.url && question.httpBody == nil)
        #expect(
            question.allHTTPHeaderFields == [
                "Authorization": "Bearer a", "X-Key": "k", "Upload-Draft-Interop-Version": "6",
            ]
        )
        let rest = resource.appendRequest(like: question, UploadRest(from: 40, of: 100))
        #expect(rest.httpMethod == "PATCH" && rest.url == resource.url)
        #expect(
            rest.allHTTPHeaderFields == [
                "Authorization": "Bearer a", "X-Key": "k", "Upload-Draft-Interop-Version": "6",
                "Upload-Offset": "40", "Upload-Complete": "?1", "Content-Type": "application/partial-upload",
            ]
        )
    }

    @Test(
        "The resource's requests have the upload's credentials only at its origin, or the same host over https",
        arguments: [
            ("https://a/", "https://a/r", true), ("http://a/", "https://a/r", true),
            ("http://a/", "https://b/r", false),
            ("https://a/", "http://a/r", false), ("http://a/", "https://a:8443/r", false),
        ]
    )
    func credentials(of url: String, resource: String, areKept: Bool) throws {
        let request = try Sample.request(url, "POST", ["Authorization": "Bearer a"])
        let question = UploadResource(url: try Sample.url(resource), version: .v6).offsetRequest(like: request)
        #expect(question.value(forHTTPHeaderField: "Authorization") == (areKept ? "Bearer a" : nil))
    }
}
