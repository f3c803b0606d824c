import Foundation
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("Finding a response's body on a channel")
struct MessageBodyTests {
    private struct Found: Equatable {
        var body = ""
        var isComplete = false
        var mayEnd = false
        /// What follows the message.
        var rest = ""
    }

    private func head(_ fields: KeyValuePairs<String, String> = [:], status: Int = 200) -> ResponseHead {
        ResponseHead(
            version: "HTTP/1.1",
            status: status,
            fields: fields.map { HeaderField(name: $0.key, value: $0.value) }
        )
    }

    /// Feeds the message in pieces of this size.
    private func find(
        _ text: String,
        after head: ResponseHead,
        method: String = "GET",
        size: Int = .max
    ) throws -> Found {
        var body = try MessageBody(after: head, method: method)
        var found = Found()
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty, !body.isComplete {
            let piece = Array(bytes.prefix(size))
            bytes = bytes.dropFirst(piece.count)
            try piece.withUnsafeBytes { buffer in
                var input = buffer
                while let part = try body.next(&input) { found.body += String(decoding: part, as: UTF8.self) }
                found.rest = String(decoding: input, as: UTF8.self)
            }
        }
        found.rest += String(decoding: bytes, as: UTF8.self)
        (found.isComplete, found.mayEnd) = (body.isComplete, body.mayEnd)
        return found
    }

    @Test("A length says where the body ends, however it is cut", arguments: [1, 2, 5, 100])
    func length(_ size: Int) throws {
        let found = try find("hello more", after: head(["content-length": "5"]), size: size)
        #expect(found == Found(body: "hello", isComplete: true, mayEnd: true, rest: " more"))
        #expect(try find("hello more", after: head(["Content-Length": "5, 5"]), size: size) == found)
        let cut = try find("hell", after: head(["Content-Length": "5"]), size: size)
        #expect(cut == Found(body: "hell", isComplete: false, mayEnd: false))
    }

    @Test("Without a length the body ends with the connection")
    func untilClose() throws {
        #expect(try find("hello", after: head()) == Found(body: "hello", isComplete: false, mayEnd: true))
        let other = head(["Transfer-Encoding": "identity", "Content-Length": "2"])
        #expect(try find("hello", after: other) == Found(body: "hello", isComplete: false, mayEnd: true))
    }

    @Test(
        "Some responses have none, whatever their fields say",
        arguments: [("HEAD", 200), ("GET", 204), ("GET", 304)]
    )
    func none(_ method: String, _ status: Int) throws {
        let found = try find("next", after: head(["Content-Length": "5"], status: status), method: method)
        #expect(found == Found(body: "", isComplete: true, mayEnd: true, rest: "next"))
        #expect(try find("", after: head(["Content-Length": "0"])).isComplete)
    }

    @Test("After a 101 everything is the other protocol's", arguments: ["Content-Length", "Transfer-Encoding"])
    func switching(_ name: String) throws {
        let fields: KeyValuePairs = [name: name == "Content-Length" ? "2" : "chunked"]
        let found = try find("5\r\nhello", after: head(fields, status: 101))
        #expect(found == Found(body: "5\r\nhello", isComplete: false, mayEnd: true))
    }

    private static let chunked =
        "5\r\nhello\r\nA;name=\"va lue\"\r\n, chunked \r\n00001 \nw\n0\r\nTrailer: a\r\nOther: b\r\n\r\n"

    @Test("Chunks, their extensions and trailers come apart, however they are cut", arguments: 1...20)
    func chunks(_ size: Int) throws {
        let found = try find(Self.chunked + "rest", after: head(["Transfer-Encoding": "Chunked"]), size: size)
        #expect(found == Found(body: "hello, chunked w", isComplete: true, mayEnd: true, rest: "rest"))
    }

    @Test("Random cuts give the same body", arguments: 0..<50 as Range<UInt64>)
    func randomCuts(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let chunks = (0..<Int.random(in: 1...20, using: &generator)).map { _ in
            String(repeating: "x", count: Int.random(in: 1...300, using: &generator))
        }
        let text = chunks.map { String($0.utf8.count, radix: 16) + "\r\n" + $0 + "\r\n" }.joined() + "0\r\n\r\n"
        let size = Int.random(in: 1...400, using: &generator)
        let found = try find(text, after: head(["Transfer-Encoding": "chunked"]), size: size)
        #expect(found == Found(body: chunks.joined(), isComplete: true, mayEnd: true))
    }

    @Test("Within the chunks, the connection's end is too early")
    func earlyEnd() throws {
        for length in 0..<Self.chunked.utf8.count {
            let cut = String(decoding: Array(Self.chunked.utf8.prefix(length)), as: UTF8.self)
            #expect(try find(cut, after: head(["Transfer-Encoding": "chunked"])).mayEnd == false)
        }
    }

    @Test(
        "A malformed chunk is an error",
        arguments: [
            "\r\nhello", "x\r\n", "-1\r\nh", "5\r\nhelloX", "10000000000000000\r\n", "FFFFFFFFFFFFFFFF\r\n", "1x\r\nh",
            ";a\r\n",
        ]
    )
    func invalidChunks(_ text: String) {
        #expect(throws: MessageBody.Violation.self) {
            try find(text, after: head(["Transfer-Encoding": "chunked"]))
        }
    }

    @Test("Extensions and trailers don't go on for ever", arguments: ["5;", "0\r\n", "0\r\nA: "])
    func endless(_ beginning: String) {
        #expect(throws: MessageBody.Violation.self) {
            try find(beginning + String(repeating: "a", count: 200_000), after: head(["Transfer-Encoding": "chunked"]))
        }
    }

    @Test("A length that is no number is an error", arguments: ["", "-1", "1, 2", "5x", "99999999999999999999"])
    func invalidLength(_ length: String) {
        #expect(throws: MessageBody.Violation.self) {
            try MessageBody(after: head(["Content-Length": length]), method: "GET")
        }
    }
}
