import Foundation
import Testing

@testable import CurlNetworking

@Suite("The parts of multipart/x-mixed-replace")
struct PartParserTests {
    private static let mixedReplace = "multipart/x-mixed-replace; boundary=frame"

    /// What comes out of `text`, cut at `cuts`: for each part its fields and its body.
    private static func parts(
        _ text: String,
        in type: String = mixedReplace,
        cutAt cuts: [Int] = []
    ) throws -> [[String]] {
        var parser = try #require(PartParser(contentType: type))
        let bytes = Array(text.utf8)
        var events: [PartParser.Event] = []
        var start = 0
        for end in cuts + [bytes.count] {
            events += try bytes[start..<end].withUnsafeBytes { try parser.parse($0) }
            start = end
        }
        if let rest = parser.finish() { events.append(.body(rest)) }
        var parts: [[String]] = []
        for event in events {
            switch event {
            case .part(let fields):
                parts.append([fields.map { "\($0.name): \($0.value)" }.joined(separator: ", "), ""])
            case .body(let bytes):
                guard let last = parts.indices.last else {
                    Issue.record("bytes before the first part")
                    continue
                }
                parts[last][1] += String(decoding: bytes, as: UTF8.self)
            }
        }
        return parts
    }

    private static let two =
        "preamble\r\n--frame\r\nContent-Type: text/plain\r\nX-Number: 1\r\n\r\nfirst\r\n-frame\r\n--fram\r\n--frame \r\n\r\nsecond\r\n--frame--\r\nepilogue"
    private static let twoParts = [
        ["Content-Type: text/plain, X-Number: 1", "first\r\n-frame\r\n--fram"], ["", "second"],
    ]

    @Test("Each part has its fields and its bytes, and what is before the first and after the last is ignored")
    func parts() throws {
        #expect(try Self.parts(Self.two) == Self.twoParts)
    }

    @Test("The parts are the same wherever the bytes are cut")
    func cuts() throws {
        let count = Self.two.utf8.count
        for first in 0...count {
            #expect(try Self.parts(Self.two, cutAt: [first]) == Self.twoParts)
            for second in stride(from: first, through: count, by: 7) {
                #expect(try Self.parts(Self.two, cutAt: [first, second]) == Self.twoParts)
            }
        }
        #expect(try Self.parts(Self.two, cutAt: Array(1..<count)) == Self.twoParts)
    }

    @Test("A part's field that isn't UTF-8 is read as a response's is, as Latin-1")
    func latin1() throws {
        var parser = try #require(PartParser(contentType: Self.mixedReplace))
        let bytes = Array("--frame\r\nX: ".utf8) + [0xE9] + Array("\r\n\r\na".utf8)
        let events = try bytes.withUnsafeBytes { try parser.parse($0) }
        guard case .part(let fields)? = events.first else {
            Issue.record("There is no part.")
            return
        }
        #expect(fields == [HeaderField(name: "X", value: "\u{E9}")])
    }

    static let sloppy: [(String, String, [[String]])] = [
        ("--frame\nX: 1\n\na\n--frame\nX: 2\n\nb", mixedReplace, [["X: 1", "a"], ["X: 2", "b"]]),
        (
            "--frame\r\n\r\na\r\n--frame\r\n\r\nb", "Multipart/X-Mixed-Replace;charset=x; Boundary=\"--frame\"",
            [["", "a"], ["", "b"]]
        ),
        (
            "----frame\r\n\r\na\r\n--frame\r\n----frame\r\n\r\nb\r\n----frame--",
            "multipart/x-mixed-replace; boundary=--frame", [["", "a\r\n--frame"], ["", "b"]]
        ),
        ("------\r\n\r\na\r\n--------", "multipart/x-mixed-replace; boundary=----", [["", "a"]]),
        ("----\r\n\r\na\r\n------", "multipart/x-mixed-replace; boundary=----", [["", "a"]]),
        ("--frame\r\n\r\n--frame\r\n\r\nb", mixedReplace, [["", ""], ["", "b"]]),
        ("--frame\r\nno field\r\n: 1\r\nX: \u{1}\r\nY:2\r\n\r\na", mixedReplace, [["Y: 2", "a"]]),
        ("--frame\r\n\r\na\r\n--fra", mixedReplace, [["", "a\r\n--fra"]]),
        ("--frame\r\n\r\na\r", mixedReplace, [["", "a\r"]]),
        ("--frame--", mixedReplace, []), ("--frame", mixedReplace, []), ("nothing of the kind", mixedReplace, []),
        ("", mixedReplace, []), ("--frame\r\nX: 1", mixedReplace, []),
    ]

    @Test("A line of a part's head that begins with white space continues the one above, whatever that is")
    func folding() throws {
        let head = "Content-Type: text/plain;\r\n charset=utf-8\r\nX-A:\n\tb: c\n \r\nno field\r\n X-B: d\r\n"
        let fields = "Content-Type: text/plain; charset=utf-8, X-A: b: c"
        #expect(try Self.parts("--frame\r\n\(head)\r\na\r\n--frame--") == [[fields, "a"]])
        #expect(try Self.parts("--frame\r\n X-A: b\r\n\r\na\r\n--frame--") == [["", "a"]])
    }

    @Test("Parts of servers that don't keep to the letter are read", arguments: sloppy)
    func tolerance(text: String, type: String, expected: [[String]]) throws {
        #expect(try Self.parts(text, in: type) == expected)
        #expect(try Self.parts(text, in: type, cutAt: Array(0..<text.utf8.count)) == expected)
    }

    @Test(
        "Bodies of other types, or without a boundary, have no parts",
        arguments: [
            "multipart/mixed; boundary=a", "multipart/x-mixed-replace", "multipart/x-mixed-replace; boundary=",
            "multipart/x-mixed-replace; boundary=\"\"", "", ";", "text/plain; boundary=a",
            "multipart/x-mixed-replace; boundary=" + String(repeating: "a", count: 257),
        ]
    )
    func otherTypes(type: String) {
        #expect(PartParser(contentType: type) == nil)
    }

    @Test("A head without an end is refused, and a boundary's line without an end holds nothing", arguments: [1, 1000])
    func bounds(piece: Int) throws {
        #expect(throws: PartParser.HeadTooLarge.self) {
            _ = try Self.parts("--frame\r\n" + String(repeating: "X: 1\r\n", count: 3000), cutAt: [5000, 12_000])
        }
        var parser = try #require(PartParser(contentType: Self.mixedReplace))
        let begun = Array("--frame".utf8)
        _ = try begun.withUnsafeBytes { try parser.parse($0) }
        let line = [UInt8](repeating: UInt8(ascii: "-"), count: 1) + [UInt8](repeating: 65, count: piece)
        for _ in 0..<1000 {
            let events = try line.withUnsafeBytes { try parser.parse($0) }
            #expect(events.isEmpty)
        }
        #expect(parser.finish() == nil)
    }

    @Test("The largest head is taken, also byte by byte, and none that is larger", arguments: [false, true])
    func largestHead(isInPieces: Bool) throws {
        let lines = "X: 1\r\n\r\n"
        let name = String(repeating: "Y", count: PartParser.largestHead - lines.utf8.count - 4)
        let field = "\(name):\r\n"
        for (spare, isTaken) in [("", true), ("a", true), ("ab", false)] {
            let text = "--frame\r\n" + spare + field + lines + "body"
            let cuts = isInPieces ? Array(1..<text.utf8.count) : []
            let expected: [[String]]? = isTaken ? [["\(spare)\(name): , X: 1", "body"]] : nil
            #expect((try? Self.parts(text, cutAt: cuts)) == expected)
        }
    }

    @Test(
        "As many lines as a head may have are taken, and no more, whether or not they are fields",
        arguments: ["X: 1", ":", "\u{A0}:"]
    )
    func maximumLines(line: String) throws {
        let lines = String(repeating: line + "\r\n", count: PartParser.maximumLines - 1)
        let parts = try Self.parts("--frame\r\n" + lines + "\r\nbody")
        #expect(parts.count == 1 && parts[0].last == "body")
        #expect(throws: PartParser.HeadTooLarge.self) {
            _ = try Self.parts("--frame\r\n" + lines + line + "\r\n\r\nbody")
        }
    }

    @Test("Bytes are handed on as they come, but for what may begin a boundary")
    func asTheyCome() throws {
        var parser = try #require(PartParser(contentType: Self.mixedReplace))
        func feed(_ text: String) throws -> [PartParser.Event] {
            try Array(text.utf8).withUnsafeBytes { try parser.parse($0) }
        }
        #expect(try feed("--frame\r\n\r\n") == [.part([])])
        #expect(try feed("abc") == [.body(Array("abc".utf8))])
        #expect(try feed("d\r\n--f") == [.body(Array("d".utf8))])
        #expect(try feed("e") == [.body(Array("\r\n--fe".utf8))])
        #expect(try feed("\r\n--frame\r\n") == [])
        #expect(try feed("\r\n") == [.part([])])
    }
}
