import Foundation
import Testing

@testable import CurlNetworking

@Suite("Rules for header fields")
struct HeaderRulesTests {
    static func fields(
        _ headers: KeyValuePairs<String, String>,
        additional: KeyValuePairs<String, String> = [:]
    ) throws -> [HeaderField] {
        try HeaderRules.fields(
            of: Sample.request("http://example.com/", "GET", headers),
            additional: additional.map { HeaderField(name: $0.key, value: $0.value) }
        )
    }

    static func error(
        _ headers: KeyValuePairs<String, String>,
        additional: KeyValuePairs<String, String> = [:]
    ) throws -> URLError.Code? {
        do {
            _ = try fields(headers, additional: additional)
            return nil
        } catch let error as URLError {
            return error.code
        }
    }

    @Test("A session's fields may have values of any type, of which nil and NSNull are none")
    func anyType() {
        let fields = HeaderRules.additional([
            "X-Text": "a", "X-Number": 42, "X-Some": Optional("b") as Any, "X-Nested": Optional(Optional(7)) as Any,
            "X-None": Optional<String>.none as Any, "X-Null": NSNull(), NSString("X-Key"): NSString("c"),
        ])
        #expect(fields.map(\.name) == ["X-Key", "X-Nested", "X-Number", "X-Some", "X-Text"])
        #expect(fields.map(\.value) == ["c", "7", "42", "b", "a"])
    }

    @Test("Of a session's fields whose names differ only in case, always the same one is sent")
    func sameNames() {
        for _ in 0..<10 {
            let fields = HeaderRules.additional(["x-name": "1", "X-Name": "2", "X-NAME": "3", "x-Name": "4"])
            #expect(fields.map(\.name) == ["X-NAME"] && fields.map(\.value) == ["3"])
        }
    }

    @Test("Of a request's fields whose names differ only in case, always the same one counts")
    func sameNamesOfRequest() throws {
        var request = try Sample.request()
        for _ in 0..<10 {
            request.allHTTPHeaderFields = [
                "x-name": "1", "X-Name": "2", "X-NAME": "3", "Accept": "*/*", "Accept-": "4",
            ]
            let once = HeaderRules.withoutDoubles(request)
            #expect(once.allHTTPHeaderFields == ["X-NAME": "3", "Accept": "*/*", "Accept-": "4"])
        }
        let many = Dictionary(uniqueKeysWithValues: (0..<100).map { ("X-\($0)", "\($0)") })
        request.allHTTPHeaderFields = many
        #expect(HeaderRules.withoutDoubles(request).allHTTPHeaderFields == many)
        request.allHTTPHeaderFields?["x-99"] = "another"
        #expect(HeaderRules.withoutDoubles(request).allHTTPHeaderFields == many)
    }

    @Test(
        "A value with CR, LF or NUL is refused, wherever it comes from",
        arguments: ["a\r\nX-Evil: b", "a\rb", "a\nb", "a\u{0}b", "\r\n", "\n", "\u{0}", "ä\n"]
    )
    func lineBreaks(value: String) throws {
        // URLRequest and Foundation may mend or drop such a value on the way; the session's fields come unchanged.
        #expect(try Self.error([:], additional: ["X-A": value]) == .badURL)
        var request = try Sample.request()
        request.setValue(value, forHTTPHeaderField: "X-A")
        let kept = request.value(forHTTPHeaderField: "X-A")
        #expect(try Self.error(["X-A": value]) == (kept == value ? .badURL : nil))
    }

    @Test(
        "URLRequest drops a value with a line break, unless it is folded, and keeps what was there",
        arguments: ["token\n", "token\r\n", "token\u{0}", "\ntoken", "a\r\nX-Evil: b", "a\n b"]
    )
    func droppedValues(value: String) throws {
        var request = try Sample.request()
        request.setValue(value, forHTTPHeaderField: "X-A")
        #expect(request.value(forHTTPHeaderField: "X-A") == nil)
        request.setValue("old", forHTTPHeaderField: "X-A")
        request.setValue(value, forHTTPHeaderField: "X-A")
        request.addValue(value, forHTTPHeaderField: "X-A")
        #expect(request.value(forHTTPHeaderField: "X-A") == "old")
        request.allHTTPHeaderFields = ["X-A": value]
        #expect(request.value(forHTTPHeaderField: "X-A") == value)
        request.setValue("folded\r\n value", forHTTPHeaderField: "X-A")
        #expect(request.value(forHTTPHeaderField: "X-A") == "folded\r\n value")
    }

    @Test("The error about a refused field names it and not its value, which may be a password")
    func secrecy() throws {
        #expect {
            try Self.fields([:], additional: ["Authorization": "Bearer topsecret\n"])
        } throws: {
            let text = "\($0.localizedDescription) \($0)"
            return text.contains("Authorization") && !text.contains("topsecret")
        }
    }

    @Test(
        "A name that is no token is refused",
        arguments: [
            "", " ", "a b", "a:", ":a", "a\r\nb", "a\u{0}", "a\u{7f}", "ä", "a(b)", "\"a\"", "a/b", "a,b", "{a}", "a\t",
        ]
    )
    func names(name: String) throws {
        #expect(try Self.error([:], additional: [name: "v"]) == .badURL)
        #expect(!FieldSyntax.isToken(name))
    }

    @Test("Other characters may stand in a value")
    func values() throws {
        for value in ["", "a b", "ä€", "\t", "a:b", "\u{7f}", "\u{85}"] {
            #expect(try Self.fields([:], additional: ["X": value]) == [HeaderField(name: "X", value: value)])
        }
    }

    @Test("The request's fields come first, in one order, and replace the session's of the same name")
    func additional() throws {
        let fields = try Self.fields(
            ["B": "request", "A": "request"],
            additional: ["b": "session", "C": "session"]
        )
        #expect(
            fields == [
                HeaderField(name: "A", value: "request"), HeaderField(name: "B", value: "request"),
                HeaderField(name: "C", value: "session"),
            ]
        )
    }

    @Test("The transport's own fields are dropped, in any spelling")
    func transportFields() throws {
        #expect(try Self.fields(["Content-Length": "5", "Transfer-Encoding": "chunked"]) == [])
        #expect(try Self.fields([:], additional: ["content-length": "5", "TRANSFER-ENCODING": "x"]) == [])
    }

    @Test("A field that would be dropped is still checked")
    func checkedBeforeDropped() throws {
        #expect(try Self.error([:], additional: ["Content-Length": "5\r\nX: y"]) == .badURL)
    }
}
