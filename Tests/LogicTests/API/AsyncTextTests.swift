import Foundation
import Testing

@testable import CurlNetworking

@Suite("Text out of asynchronous bytes")
struct AsyncTextTests {
    /// Bytes that come one at a time, across whatever chunks there were.
    struct Bytes: AsyncSequence, Sendable {
        var bytes: [UInt8]

        struct Iterator: AsyncIteratorProtocol {
            var rest: ArraySlice<UInt8>

            mutating func next() async throws -> UInt8? {
                rest.popFirst()
            }
        }

        func makeAsyncIterator() -> Iterator {
            Iterator(rest: bytes[...])
        }
    }

    static func collect<Sequence: AsyncSequence>(_ sequence: Sequence) async throws -> [Sequence.Element] {
        var elements: [Sequence.Element] = []
        for try await element in sequence { elements.append(element) }
        return elements
    }

    static func lines(_ text: String) async throws -> [String] {
        try await collect(Bytes(bytes: Array(text.utf8)).lines)
    }

    private static func brokenOff(after text: String) -> AsyncThrowingStream<UInt8, any Error> {
        AsyncThrowingStream { continuation in
            for byte in text.utf8 { continuation.yield(byte) }
            continuation.finish(throwing: URLError(.networkConnectionLost))
        }
    }

    @Test("Bytes that were read just before an error are neither a line nor a character")
    func brokenOff() async throws {
        var lines = Self.brokenOff(after: "line\npartial").lines.makeAsyncIterator()
        #expect(try await lines.next() == "line")
        await #expect(throws: URLError.self) { _ = try await lines.next() }
        #expect(try await lines.next() == nil)
        var characters = Self.brokenOff(after: "ab").characters.makeAsyncIterator()
        #expect(try await characters.next() == "a")
        await #expect(throws: URLError.self) { _ = try await characters.next() }
        #expect(try await characters.next() == nil)
    }

    // MARK: - Lines

    @Test(
        "Every line end ends a line",
        arguments: ["\n", "\r", "\r\n", "\u{B}", "\u{C}", "\u{85}", "\u{2028}", "\u{2029}"]
    )
    func lineEnds(end: String) async throws {
        #expect(try await Self.lines("a\(end)b c\(end)") == ["a", "b c"])
        #expect(try await Self.lines("a\(end)b") == ["a", "b"], "the last line needs no end")
        #expect(try await Self.lines("\(end)a\(end)\(end)b\(end)") == ["a", "b"], "empty lines are left out")
        #expect(try await Self.lines("ä€😀\(end)ß") == ["ä€😀", "ß"])
    }

    @Test("Nothing, or nothing but line ends, has no lines")
    func noLines() async throws {
        #expect(try await Self.lines("") == [])
        #expect(try await Self.lines("\n\r\n\r\r\n\u{85}\u{2028}") == [])
    }

    @Test(
        "A character that only resembles a line end is text",
        arguments: ["…", "\u{2026}", "\u{2027}", "\u{202A}", "Å", "\u{E2}", "\u{185}", "\u{A8}", "\u{1028}"]
    )
    func lookalikes(text: String) async throws {
        #expect(try await Self.lines("a\(text)b") == ["a\(text)b"])
    }

    @Test("White space and NUL belong to their line")
    func whiteSpace() async throws {
        #expect(try await Self.lines("  a\t\u{0}b  \n \n") == ["  a\t\u{0}b  ", " "])
    }

    @Test("Invalid UTF-8 is replaced within its line only")
    func invalidLines() async throws {
        let bytes = Array("a".utf8) + [0xff, 0x0a, 0xc2, 0x0a] + Array("b".utf8)
        #expect(try await Self.collect(Bytes(bytes: bytes).lines) == ["a\u{FFFD}", "\u{FFFD}", "b"])
    }

    // MARK: - Characters

    @Test("A character that never ends comes in parts, and costs no more than others")
    func endlessCharacter() async throws {
        let text = "ae" + String(repeating: "\u{301}", count: 10 * 4096) + "b"
        let characters = try await Self.collect(Bytes(bytes: Array(text.utf8)).characters)
        #expect(characters.count == 13)
        #expect(characters.first == "a" && characters.last == "b")
        #expect(characters.allSatisfy { $0.unicodeScalars.count <= 4096 })
        #expect(characters.map { String($0) }.joined().unicodeScalars.elementsEqual(text.unicodeScalars))
    }

    // MARK: - Scalars

    @Test("Valid UTF-8 comes through unchanged")
    func validScalars() async throws {
        let text = "a\u{0}\u{7f}\u{80}\u{7ff}\u{800}\u{d7ff}\u{e000}\u{ffff}\u{10000}\u{10ffff}\u{feff}"
        let scalars = try await Self.collect(Bytes(bytes: Array(text.utf8)).unicodeScalars)
        #expect(scalars == Array(text.unicodeScalars))
    }

    static let invalid: [[UInt8]] = [
        [0x80], [0xbf], [0xc0, 0x80], [0xc1, 0xbf], [0xe0, 0x80, 0x80], [0xe0, 0x9f, 0xbf], [0xed, 0xa0, 0x80],
        [0xed, 0xbf, 0xbf], [0xf0, 0x80, 0x80, 0x80], [0xf0, 0x8f, 0xbf, 0xbf], [0xf4, 0x90, 0x80, 0x80],
        [0xf5, 0x80, 0x80, 0x80], [0xfe], [0xff], [0xc3], [0xe2, 0x82], [0xf0, 0x9f, 0x98], [0xc3, 0x28],
        [0xe2, 0x28, 0xa1], [0xe2, 0x82, 0x28], [0xf0, 0x28, 0x8c, 0xbc], [0xf0, 0x9f, 0x28, 0xbc], [0xc3, 0xc3, 0xa9],
        [0xe2, 0x82, 0xe2, 0x82, 0xac], [0xf0, 0x9f, 0xf0, 0x9f, 0x98, 0x80],
    ]

    /// The standard library replaces as the Unicode standard recommends: one U+FFFD for each maximal subpart.
    @Test("Invalid UTF-8 is replaced as the standard library does", arguments: invalid)
    func invalidScalars(bytes: [UInt8]) async throws {
        for bytes in [bytes, [0x61] + bytes + [0x62]] {
            let scalars = try await Self.collect(Bytes(bytes: bytes).unicodeScalars)
            #expect(scalars == Array(String(decoding: bytes, as: UTF8.self).unicodeScalars))
        }
    }

    @Test("Random bytes become the same scalars as in the standard library", arguments: 1...10 as ClosedRange<UInt64>)
    func randomScalars(seed: UInt64) async throws {
        var generator = SeededGenerator(seed: seed)
        let likely: [UInt8] = [0x61, 0x80, 0xbf, 0xc2, 0xe0, 0xed, 0xf0, 0xf4, 0x9f, 0xa0, 0x8f, 0x90]
        for _ in 0..<200 {
            let bytes = (0..<Int.random(in: 0..<30, using: &generator)).map { _ in
                generator.chance(80)
                    ? likely[Int.random(in: likely.indices, using: &generator)]
                    : UInt8.random(in: .min ... .max, using: &generator)
            }
            let text = String(decoding: bytes, as: UTF8.self)
            #expect(try await Self.collect(Bytes(bytes: bytes).unicodeScalars) == Array(text.unicodeScalars))
            #expect(try await Self.collect(Bytes(bytes: bytes).characters) == Array(text))
        }
    }

    // MARK: - Characters

    @Test(
        "Characters are whole, however many scalars they have",
        arguments: ["", "abc", "e\u{301}a\u{308}\u{304}", "👨‍👩‍👧‍👦👍🏽", "🇩🇪🇫🇷🇪🇺", "a\r\nb\n\r", "한국어", "\u{301}a", "क्षि"]
    )
    func characters(text: String) async throws {
        #expect(try await Self.collect(Bytes(bytes: Array(text.utf8)).characters) == Array(text))
    }

    @Test("A sequence can be read more than once")
    func twice() async throws {
        let lines = Bytes(bytes: Array("a\nb".utf8)).lines
        #expect(try await Self.collect(lines) == ["a", "b"])
        #expect(try await Self.collect(lines) == ["a", "b"])
    }
}
