import Testing

@testable import CurlNetworking

@Suite("A response's head")
struct ResponseHeadTests {
    @Test("Fields are found without regard to case, the first of a name counts")
    func lookup() {
        let head = Sample.head(200, ["X-a": "1", "x-A": "2", "Y": ""])
        #expect(head["X-A"] == "1")
        #expect(head["y"] == "")
        #expect(head["z"] == nil)
        #expect(head["X_a"] == nil)
    }

    @Test("Only letters are the same in both cases")
    func caseFolding() {
        #expect("Content-Type".isEqualIgnoringASCIICase(to: "cONTENT-tYPE"))
        #expect(!"a@".isEqualIgnoringASCIICase(to: "a`"))
        #expect(!"[".isEqualIgnoringASCIICase(to: "{"))
        #expect(!"\r".isEqualIgnoringASCIICase(to: "-"))
        #expect(!"a".isEqualIgnoringASCIICase(to: "ab"))
        #expect(!"k".isEqualIgnoringASCIICase(to: "\u{212A}"), "not the Kelvin sign")
        #expect("".isEqualIgnoringASCIICase(to: ""))
    }

    static let lines: [(String, Bool)] = [
        ("Range: bytes=1-", true), ("range;", true), ("RANGE:", true), ("Range:;", true), ("Range;:", true),
        ("Ranger: x", false), ("Rang: Range:", false), (" Range: x", false), ("Range : x", false), ("Range", false),
        ("", false),
        (":", false), ("Rang\u{e9}: x", false), ("X-Range: x", false),
    ]

    @Test("A line is of the field whose name it begins with, in any case", arguments: lines)
    func line(line: String, isRange: Bool) {
        #expect(line.isLine(ofField: "Range") == isRange)
        #expect(String(decoding: Array(line.utf16), as: UTF16.self).isLine(ofField: "rANGE") == isRange)
    }

    @Test(
        "Lengths contradict each other where two of them differ, and nothing else says where the body ends (RFC 9112 §6.3)"
    )
    func contradictingLengths() {
        #expect(!Sample.head(200).hasContradictingLengths)
        #expect(!Sample.head(200, ["Content-Length": "1"]).hasContradictingLengths)
        #expect(!Sample.head(200, ["Content-Length": "1", "A": "b", "content-length": "1"]).hasContradictingLengths)
        #expect(
            Sample.head(200, ["Content-Length": "1", "content-length": "1", "CONTENT-LENGTH": "2"])
                .hasContradictingLengths
        )
        let chunked = Sample.head(200, ["Content-Length": "1", "content-length": "2", "transfer-encoding": "chunked"])
        #expect(!chunked.hasContradictingLengths)
    }

    @Test("The body's end is doubtful with chunks and a length, or with chunks in HTTP/1.0 (RFC 9112 §6.1)")
    func doubtfulEnd() {
        let chunked = HeaderField(name: "transfer-encoding", value: "chunked")
        let length = HeaderField(name: "Content-Length", value: "2")
        for version in ["HTTP/1.0", "HTTP/1.1"] {
            #expect(!ResponseHead(version: version, status: 200, fields: [length]).hasDoubtfulEnd)
            #expect(ResponseHead(version: version, status: 200, fields: [length, chunked]).hasDoubtfulEnd)
            let isOld = version == "HTTP/1.0"
            #expect(ResponseHead(version: version, status: 200, fields: [chunked]).hasDoubtfulEnd == isOld)
        }
    }

    @Test("Fields of the same name are joined in their order (RFC 9110 §5.3)")
    func joining() {
        let head = Sample.head(200, ["Set-Cookie": "a=1", "Vary": "x", "set-cookie": "b=2", "VARY": "y", "Via": "z"])
        #expect(head.fields.combined == ["Set-Cookie": "a=1, b=2", "Vary": "x, y", "Via": "z"])
    }

    static let lengths: [(String, Int64?)] = [
        ("0", 0), ("42", 42), ("9223372036854775807", .max), ("9223372036854775808", nil), ("-1", nil), ("", nil),
        ("1,1", 1), ("1, 1,", 1), ("1, 2", nil), ("1, x", nil), ("-1, -1", nil), (",", nil), ("0x10", nil), ("٣", nil),
        ("+5", nil),
    ]

    @Test("Content-Length is digits, or a list of the same ones, or nothing (RFC 9110 §8.6)", arguments: lengths)
    func contentLength(text: String, expected: Int64?) {
        #expect(Sample.head(200, ["Content-Length": text]).contentLength == expected)
    }

    @Test("Beside chunks, Content-Length says nothing (RFC 9112 §6.3)")
    func overriddenLength() {
        #expect(Sample.head(200, ["Content-Length": "3", "Transfer-Encoding": "gzip, Chunked"]).contentLength == nil)
        #expect(Sample.head(200, ["Content-Length": "3", "transfer-encoding": "chunked"]).contentLength == nil)
    }

    @Test(
        "A response shows no length beside chunks, and one number for a repeated one",
        arguments: [
            (["Content-Length": "3"], "3"), (["Content-Length": "3", "content-length": "3"], "3"),
            (["CONTENT-LENGTH": "3, 3"], "3"), (["Content-Length": "03, 03", "A": "b"], "3"),
            (["Content-Length": "3", "Transfer-Encoding": "chunked"], nil),
            (["content-length": "3", "A": "b", "Content-Length": "4", "transfer-encoding": "Chunked"], nil),
            (["Content-Length": "3", "Content-Encoding": "gzip"], nil), (["Transfer-Encoding": "chunked"], nil),
            (["A": "b", "a": "c"], nil), (["Content-Length": "03"], "03"),
        ] as [(KeyValuePairs<String, String>, String?)]
    )
    func decodedFields(fields: KeyValuePairs<String, String>, length: String?) {
        let head = Sample.head(200, fields)
        var expected = head.fields.combined
        let name = fields.first { $0.key.lowercased() == "content-length" }?.key
        if let name { expected[name] = length }
        #expect(head.decodedFields == expected)
        #expect(length == nil || name != nil)
    }

    @Test("A body is coded unless its coding is none")
    func coding() {
        #expect(!Sample.head(200).isContentCoded)
        #expect(!Sample.head(200, ["Content-Encoding": ""]).isContentCoded)
        #expect(!Sample.head(200, ["Content-Encoding": "Identity"]).isContentCoded)
        #expect(Sample.head(200, ["content-encoding": "gzip"]).isContentCoded)
    }

    typealias ContentRange = ResponseHead.ContentRange

    static let ranges: [(String, ContentRange?)] = [
        ("bytes 0-499/1234", ContentRange(bytes: 0...499, completeLength: 1234)),
        ("BYTES 734-1233/*", ContentRange(bytes: 734...1233, completeLength: nil)),
        ("bytes */1234", ContentRange(bytes: nil, completeLength: 1234)),
        ("bytes 0-0/1", ContentRange(bytes: 0...0, completeLength: 1)),
        (
            "bytes 0-9223372036854775807/*",
            ContentRange(bytes: 0...Int64.max, completeLength: nil)
        ),
    ]

    @Test("Content-Range is understood in all its forms (RFC 9110 §14.4)", arguments: ranges)
    func contentRange(text: String, expected: ContentRange?) {
        #expect(Sample.head(206, ["Content-Range": text]).contentRange == expected)
    }

    static let malformedRanges = [
        "", "bytes", "bytes ", "bytes 0-1", "bytes 0-1/", "bytes /5", "bytes -/5", "bytes 5/5", "bytes 1-0/5",
        "bytes -1-2/5", "bytes 0-/5", "bytes -5/5", "bytes 0-1/-5", "bytes 0-1/5/6", "bytes 0-1-2/5", "bytes=0-1/5",
        "bytes a-b/c", "bytes 0-9223372036854775808/*", "bytes 0-1/x", "items 0-1/5", "bytes 0-1, 3-4/5",
        "bytes  0 - 1/5",
        "bytes +0-1/5", "bytes 0-+1/5", "bytes 0-1/+5", "bytes ٠-1/5",
    ]

    @Test("A malformed Content-Range is none", arguments: malformedRanges)
    func malformedContentRange(text: String) {
        #expect(Sample.head(206, ["Content-Range": text]).contentRange == nil)
    }
}
