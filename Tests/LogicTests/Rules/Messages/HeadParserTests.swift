import Testing

@testable import CurlNetworking

@Suite("The parser of response heads")
struct HeadParserTests {
    struct Result {
        var heads: [ResponseHead] = []
        var isMalformed = false
    }

    /// Feeds lines as libcurl does: one at a time, each with its end.
    static func parse(_ lines: [[UInt8]], with parser: inout HeadParser) -> Result {
        var result = Result()
        for line in lines {
            switch line.withUnsafeBytes({ parser.consume(lines: $0) }) {
            case .incomplete: break
            case .complete(let head): result.heads.append(head)
            case .malformed, .unparsable: result.isMalformed = true
            }
        }
        return result
    }

    static func parse(_ lines: [String]) -> Result {
        var parser = HeadParser()
        return parse(lines.map { Array(($0 + "\r\n").utf8) }, with: &parser)
    }

    static func fields(_ lines: String...) throws -> HeaderFields {
        try #require(parse(["HTTP/1.1 200 OK"] + lines + [""]).heads.first).fields
    }

    @Test(
        "Several lengths are one if they are the same number, of 63 bits at most, else the head is malformed",
        arguments: [
            (["Content-Length: 2", "content-length: 2"], false), (["Content-Length: 2", "Content-Length: 3"], true),
            (["Content-Length: 3", "A: b", "CONTENT-LENGTH: 2"], true),
            (["Content-Length: 2", "Content-Length: 2", "Content-Length: 3"], true),
            (["Content-Length: 2", "Content-Length: 3", "Transfer-Encoding: chunked"], false),
            (["Content-Length: 2", "Content-Length: 3", "Transfer-Encoding: identity"], true),
            (["Content-Length: 2, 2", "Content-Length: 2"], false), (["Content-Length: 2, 3"], true),
            (["Content-Length: 2", " 3"], true), (["Content-Length: 2a"], true), (["Content-Length: +2"], true),
            (["Content-Length: ,"], true), (["Content-Length:"], true),
            (["Content-Length: 9223372036854775807"], false), (["Content-Length: 9223372036854775808"], true),
            (["Content-Length: 99999999999999999999", "Content-Length: 99999999999999999999"], true),
            (["Content-Length: 99999999999999999999", "Transfer-Encoding: chunked"], false),
            (["Content-Length: 2", "Transfer-Encoding: identity"], true), (["Transfer-Encoding: identity"], false),
            (["Content-Length: 2", "Transfer-Encoding:"], true), (["Transfer-Encoding:"], false),
        ]
    )
    func lengths(fields: [String], isMalformed: Bool) {
        let result = Self.parse(["HTTP/1.1 200 OK"] + fields + [""])
        #expect(result.isMalformed == isMalformed)
        #expect(result.heads.isEmpty == isMalformed)
    }

    @Test("A carriage return or NUL in a value becomes a space, in folded lines as well")
    func lineEnds() throws {
        let fields = try Self.fields("A: b\rX: y\0z", "C: d", " e\rf", "G: h\r\r")
        #expect(fields.map(\.value) == ["b X: y z", "d e f", "h"])
    }

    @Test("A head is complete with its empty line, and not before")
    func completeness() throws {
        #expect(Self.parse(["HTTP/1.1 200 OK", "A: b"]).heads == [])
        let head = try #require(Self.parse(["HTTP/1.1 404 Not Found", "A: b", "C: d", ""]).heads.first)
        #expect(head.version == "HTTP/1.1")
        #expect(head.status == 404)
        #expect(head.fields == [HeaderField(name: "A", value: "b"), HeaderField(name: "C", value: "d")])
    }

    @Test(
        "Status lines of every version are read, with a reason or without",
        arguments: [
            ("HTTP/1.0 200 OK", "HTTP/1.0", 200), ("HTTP/1.1 200", "HTTP/1.1", 200), ("HTTP/1.1 200 ", "HTTP/1.1", 200),
            ("HTTP/2 503 ", "HTTP/2", 503), ("HTTP/3 204", "HTTP/3", 204), ("HTTP/1.1 999 What\u{FC}", "HTTP/1.1", 999),
        ]
    )
    func statusLines(line: String, version: String, status: Int) throws {
        let head = try #require(Self.parse([line, ""]).heads.first)
        #expect(head.version == version)
        #expect(head.status == status)
        #expect(head.fields == [])
    }

    @Test("Lines that end with LF alone are lines too")
    func bareLineFeeds() throws {
        var parser = HeadParser()
        let lines = ["HTTP/1.1 200 OK\n", "A: b\n", "\n"].map { Array($0.utf8) }
        #expect(
            try #require(Self.parse(lines, with: &parser).heads.first).fields == [HeaderField(name: "A", value: "b")]
        )
    }

    @Test("Lines that come at once are lines all the same, as after a pause")
    func linesAtOnce() throws {
        var parser = HeadParser()
        let pieces = ["HTTP/1.1 200 OK\r\n", "A: b\r\nC: d\r\n e\r\n\r\nTrailer: x\r\n"].map { Array($0.utf8) }
        let result = Self.parse(pieces, with: &parser)
        #expect(
            try #require(result.heads.first).fields
                == [HeaderField(name: "A", value: "b"), HeaderField(name: "C", value: "d e")]
        )
        #expect(parser.isComplete)
    }

    @Test("Informational heads are kept apart, with their fields")
    func informational() {
        var parser = HeadParser()
        let lines = [
            "HTTP/1.1 100 Continue", "", "HTTP/1.1 103 Early Hints", "Link: </style.css>", "",
            "HTTP/1.1 200 OK", "A: b", "",
        ]
        let result = Self.parse(lines.map { Array(($0 + "\r\n").utf8) }, with: &parser)
        #expect(parser.informational.map(\.status) == [100, 103])
        #expect(parser.informational.last?.fields == [HeaderField(name: "Link", value: "</style.css>")])
        #expect(
            result.heads == [
                ResponseHead(version: "HTTP/1.1", status: 200, fields: [HeaderField(name: "A", value: "b")])
            ]
        )
    }

    @Test("101 is the last head on its connection, and so the response")
    func switchingProtocols() {
        #expect(Self.parse(["HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", ""]).heads.first?.status == 101)
    }

    @Test("Trailers change nothing")
    func trailers() {
        var parser = HeadParser()
        let lines = ["HTTP/1.1 200 OK", "A: b", "", "Trailer: x", "", "HTTP/1.1 500 No", ""]
        let result = Self.parse(lines.map { Array(($0 + "\r\n").utf8) }, with: &parser)
        #expect(result.heads.map(\.status) == [200])
        #expect(result.heads.first?.fields.count == 1)
        #expect(!result.isMalformed)
        #expect(parser.isComplete)
    }

    @Test("White space around a value is none of it, and needs not be there")
    func whiteSpace() throws {
        #expect(
            try Self.fields("A:b", "C: d", "E:\t f \t ", "G:", "H:  ", "I: x y", "J:k:l")
                == [
                    HeaderField(name: "A", value: "b"), HeaderField(name: "C", value: "d"),
                    HeaderField(name: "E", value: "f"), HeaderField(name: "G", value: ""),
                    HeaderField(name: "H", value: ""), HeaderField(name: "I", value: "x y"),
                    HeaderField(name: "J", value: "k:l"),
                ]
        )
    }

    @Test("A folded line continues the value above (RFC 9112 §5.2)")
    func folding() throws {
        #expect(
            try Self.fields("A: b", "  c", "\td", "E: f")
                == [HeaderField(name: "A", value: "b c d"), HeaderField(name: "E", value: "f")]
        )
        #expect(try Self.fields(" lost", "A: b") == [HeaderField(name: "A", value: "b")])
    }

    @Test("Unfolded values don't begin or end with a space (RFC 9110 §5.5)")
    func foldingAtEnds() throws {
        let fields = try Self.fields("Location:", " /c", "A:", " ", "\tb", " ", "B: ", " ")
        #expect(fields.map(\.value) == ["/c", "b", ""])
    }

    @Test("A folded transfer coding is malformed: libcurl doesn't find it")
    func foldedTransferCoding() {
        #expect(Self.parse(["HTTP/1.1 200 OK", "Transfer-Encoding:", " chunked", ""]).isMalformed)
    }

    @Test(
        "White space before the colon of a field that says where the body ends is malformed: libcurl doesn't find it",
        arguments: ["Content-Length : 2", "content-length\t: 2", "Transfer-Encoding : chunked"]
    )
    func separatedName(field: String) throws {
        #expect(Self.parse(["HTTP/1.1 200 OK", field, ""]).isMalformed)
        #expect(try Self.fields("A : b") == [HeaderField(name: "A", value: "b")])
    }

    @Test("A field after a carriage return is malformed: libcurl takes the line for the head's end")
    func misplacedReturn() {
        #expect(Self.parse(["HTTP/1.1 200 OK", "\rA: b", ""]).isMalformed)
        #expect(Self.parse(["HTTP/1.1 100 Continue", "A: b", "\rC: d", "HTTP/1.1 200 OK", ""]).isMalformed)
        #expect(Self.parse(["HTTP/1.1 200 OK", "A: b", "\r"]).heads.count == 1)
    }

    @Test("A folded line of nothing but white space does not end the head")
    func emptyFolding() throws {
        #expect(
            try Self.fields("A: b", " ", "Location: /c").map(\.name) == ["A", "Location"]
        )
    }

    @Test("A field that begins like a status line is a field, and one that could be one, too")
    func misleadingName() throws {
        #expect(try Self.fields("HTTP: 200", "Host: x", "H: y").map(\.name) == ["HTTP", "Host", "H"])
        let head = try #require(Self.parse(["HTTP/1.1 204 No", "A: b", "HTTP/1.1 200 : OK", ""]).heads.first)
        #expect(head.status == 204)
        #expect(head.fields.map(\.name) == ["A", "HTTP/1.1 200"])
    }

    @Test(
        "Where the body ends makes no difference if a proxy opens a tunnel",
        arguments: [
            ["Content-Length: -1"], ["Content-Length: 1", "Content-Length: 2"], ["Content-Length : 2"],
            ["Content-Length: 0", "Transfer-Encoding: identity"], ["Transfer-Encoding:", " chunked"],
        ]
    )
    func openedTunnel(fields: [String]) {
        func parse(_ status: Int, answersConnect: Bool) -> Result {
            var parser = HeadParser(answersConnect: answersConnect)
            let lines = ["HTTP/1.1 \(status) X"] + fields + [""]
            return Self.parse(lines.map { Array(($0 + "\r\n").utf8) }, with: &parser)
        }
        #expect(parse(200, answersConnect: true).heads.count == 1)
        #expect(!parse(200, answersConnect: true).isMalformed)
        #expect(parse(407, answersConnect: true).isMalformed)
        #expect(parse(200, answersConnect: false).isMalformed)
    }

    @Test("A line without a colon is dropped")
    func noColon() throws {
        #expect(try Self.fields("nonsense", "A: b") == [HeaderField(name: "A", value: "b")])
    }

    @Test("Values are UTF-8 where they can be, and Latin-1 else")
    func encodings() throws {
        var parser = HeadParser()
        let lines: [[UInt8]] = [
            Array("HTTP/1.1 200 OK\r\n".utf8),
            Array("U: caf\u{E9} \u{1F600}\r\n".utf8),
            Array("L: caf".utf8) + [0xe9] + Array("\r\n".utf8),
            Array("M: ".utf8) + [0xff, 0x80, 0x00, 0x7f] + Array("\r\n".utf8),
            Array("\r\n".utf8),
        ]
        let head = try #require(Self.parse(lines, with: &parser).heads.first)
        #expect(head["U"] == "caf\u{E9} \u{1F600}")
        #expect(head["L"] == "caf\u{E9}")
        #expect(head["M"] == "\u{FF}\u{80} \u{7F}", "NUL can't stand in a field")
    }

    @Test(
        "A head that is no HTTP is refused",
        arguments: [
            "HTTP/x 200 OK", "HTTP/x.1 204", "HTTP/E.1 200", "HTTP/1. 200", "HTTP/11 200", "HTTP/.1 200",
            "HTTP/-1.1 200", "HTTP/1.1.1 200", "HTTP/ 200",
            "", "A: b", "ICY 200 OK", "HTTP/1.1", "HTTP/1.1 OK", "http/1.1 200", "HTTP/1.1 2000 OK", "HTTP/1.1 20 OK",
            "HTTP/1.1 099 OK", "HTTP/1.1 000 OK", "HTTP/1.1 -20 OK", "HTTP/1.1 +20 OK",
        ]
    )
    func noStatusLine(line: String) {
        let result = Self.parse([line, ""])
        #expect(result.isMalformed)
        #expect(result.heads == [])
    }

    @Test("A huge head is refused, whether in one line, in many or in many heads")
    func huge() {
        let long = String(repeating: "x", count: 310 * 1024)
        #expect(Self.parse(["HTTP/1.1 200 OK", "A: " + long]).isMalformed)
        let field = "A: " + String(repeating: "x", count: 1000)
        #expect(Self.parse(["HTTP/1.1 200 OK"] + Array(repeating: field, count: 310)).isMalformed)
        let hints = Array(repeating: ["HTTP/1.1 103 Early Hints", field, ""], count: 310).flatMap { $0 }
        #expect(Self.parse(hints).isMalformed)
    }

    @Test("Trailers are limited like a head, by themselves")
    func hugeTrailers() {
        let half = "A: " + String(repeating: "x", count: 200 * 1024)
        #expect(!Self.parse(["HTTP/1.1 200 OK", half, "", half, ""]).isMalformed)
        let result = Self.parse(["HTTP/1.1 200 OK", ""] + Array(repeating: "A: b", count: 60_000))
        #expect(result.isMalformed)
        #expect(result.heads.map(\.status) == [200])
    }

    @Test("A large head within the limit is taken")
    func large() throws {
        let fields = (0..<2000).map { "X-\($0): " + String(repeating: "x", count: 100) }
        let head = try #require(Self.parse(["HTTP/1.1 200 OK"] + fields + [""]).heads.first)
        #expect(head.fields.count == 2000)
    }

    @Test("A head and the informational ones before it may have 300 KiB together, and more only as the body is sent")
    func together() {
        let hints = "HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n"
        func response(_ value: String) -> String { "HTTP/1.1 200 OK\r\nX: \(value)\r\n\r\n" }
        let room = 300 * 1024 - response("").utf8.count
        let count = room / hints.utf8.count
        for (surplus, allowance) in [(0, 0), (1, 0), (1, 1), (2, 1)] {
            var parser = HeadParser()
            parser.allowance = allowance
            let filler = String(repeating: "x", count: room - count * hints.utf8.count + surplus)
            let text = String(repeating: hints, count: count) + response(filler)
            let lines = text.split(separator: "\r\n", omittingEmptySubsequences: false).dropLast()
            let result = Self.parse(lines.map { Array("\($0)\r\n".utf8) }, with: &parser)
            #expect(result.heads.count == (surplus > allowance ? 0 : 1))
            #expect(result.isMalformed == (surplus > allowance))
        }
    }

    @Test("A head with too many fields is refused, an informational one too")
    func manyFields() {
        let most = HeadParser.maximumFields
        func fields(_ count: Int) -> [String] { Array(repeating: "a:", count: count) }
        let hints = ["HTTP/1.1 103 Early Hints"]
        let response = ["HTTP/1.1 200 OK"]
        let largest = Self.parse(hints + fields(most) + [""] + response + fields(most) + [""])
        #expect(largest.heads.first?.fields.count == most)
        #expect(Self.parse(hints + fields(most + 1)).isMalformed)
        #expect(Self.parse(response + fields(most + 1)).isMalformed)
    }

    @Test("Random lines do no harm, and never more than one head comes out", arguments: 1...20 as ClosedRange<UInt64>)
    func fuzz(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let words = [
            "HTTP/1.1 ", "200", "100", "-1", " ", "\t", ":", "A", "\r", "\n", "\r\n", "\u{0}", "HTTP/", "ß", "",
        ]
        for _ in 0..<300 {
            var parser = HeadParser()
            var lines: [[UInt8]] = []
            for _ in 0..<Int.random(in: 0..<30, using: &generator) {
                if generator.chance(50) {
                    let count = Int.random(in: 0..<40, using: &generator)
                    lines.append((0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
                } else {
                    let count = Int.random(in: 0..<6, using: &generator)
                    lines.append(
                        (0..<count).flatMap { _ in Array((words.randomElement(using: &generator) ?? "").utf8) }
                    )
                }
            }
            // Ends whichever head has begun.
            lines += ["\r\n", "HTTP/1.1 200 OK\r\n", "\r\n"].map { Array($0.utf8) }
            let result = Self.parse(lines, with: &parser)
            #expect(result.heads.count == 1)
            #expect(parser.isComplete)
        }
    }
}
