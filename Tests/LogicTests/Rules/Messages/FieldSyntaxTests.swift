import Testing

@testable import CurlNetworking

@Suite("The syntax of fields")
struct FieldSyntaxTests {
    @Test("Every character of RFC 9110's tokens may stand in one, and no other")
    func tokens() {
        let allowed = Set("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".utf8)
        for byte in UInt8.min ... .max {
            #expect(FieldSyntax.isTokenByte(byte) == allowed.contains(byte), "\(byte)")
            let text = String(Character(Unicode.Scalar(byte)))
            #expect(FieldSyntax.isToken("a\(text)") == allowed.contains(byte), "\(byte)")
        }
        #expect(!FieldSyntax.isToken(""))
    }

    @Test(
        "Only spaces and tabs are trimmed",
        arguments: [
            ("", ""), (" \t ", ""), ("a", "a"), (" \ta b\t ", "a b"), ("\r\na\n", "\r\na\n"), ("\u{a0}a", "\u{a0}a"),
            ("é ", "é"),
        ]
    )
    func trimming(text: String, trimmed: String) {
        #expect(text[...].trimmed == trimmed)
    }

    @Test(
        "A quoted string stands for its content, in which a backslash escapes what follows",
        arguments: [
            (#""""#, ""), (#""a b""#, "a b"), (#""a\"b""#, #"a"b"#), (#""\\""#, #"\"#), (#""1\0""#, "10"),
            (#""é;,""#, "é;,"),
        ]
    )
    func unquoting(text: String, content: String) {
        #expect(FieldSyntax.unquoted(text[...]) == content)
    }

    @Test(
        "A text stands in a quoted string, whatever it is",
        arguments: ["", "a b", #"a"b\"#, "a\"\u{301}\\\u{301}", "é;,"]
    )
    func quoting(text: String) throws {
        let content = try #require(FieldSyntax.unquoted(text.quoted[...]))
        #expect(content.hasSameBytes(as: text))
    }

    @Test(
        "What isn't a whole quoted string isn't unquoted",
        arguments: ["", "a", #"""#, #""a"#, #"a""#, #""a"b""#, #""a\""#, #" "a""#, "'a'"]
    )
    func noQuotedString(text: String) {
        #expect(FieldSyntax.unquoted(text[...]) == nil)
    }

    @Test(
        "Separators in quoted strings don't separate, and empty parts are left out",
        arguments: [
            ("", []), (";;", []), ("a", ["a"]), ("a; b;", ["a", " b"]), (#"a=";";b"#, [#"a=";""#, "b"]),
            (#"a="\";";b"#, [#"a="\";""#, "b"]), (#"a="\\";b"#, [#"a="\\""#, "b"]), (#"a\";";b"#, [#"a\";""#, "b"]),
        ]
    )
    func splitting(text: String, parts: [String]) throws {
        #expect(try #require(FieldSyntax.split(text[...], at: ";")).map(String.init) == parts)
    }

    @Test("A quoted string without an end makes a field unreadable", arguments: [#"""#, #"a;"b"#, #""a\";b"#])
    func unterminated(text: String) {
        #expect(FieldSyntax.split(text[...], at: ";") == nil)
    }

    @Test("After the last split, the rest is one part")
    func maxSplits() {
        #expect(FieldSyntax.split("a;b;c;d", at: ";", maxSplits: 2) == ["a", "b", "c;d"])
    }
}
