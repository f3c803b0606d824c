import Foundation
import Testing

@testable import CurlNetworking

@Suite("Heads of requests and responses on a channel")
struct ChannelHeadTests {
    @Test("A request's head has the fields that libcurl would write")
    func request() {
        let head = RequestHead(
            method: "GET",
            target: "/a?b",
            host: "host.test:81",
            lines: ["Upgrade: echo", "Empty;", "Expect:", "Spaces:   value"]
        )
        let text =
            "GET /a?b HTTP/1.1\r\nHost: host.test:81\r\nUpgrade: echo\r\nEmpty:\r\nSpaces: value\r\n\r\n"
        #expect(head.text == text)
        let own = RequestHead(method: "GET", target: "/", host: "a", lines: ["host: b", "accept: c"])
        #expect(own.text == "GET / HTTP/1.1\r\nhost: b\r\naccept: c\r\n\r\n")
    }

    private enum Result: Equatable {
        case incomplete
        case complete(Int, rest: String)
        case malformed
        case unparsable
    }

    /// Feeds the bytes in pieces of this size.
    private func read(_ text: String, size: Int) -> (Result, informational: [Int]) {
        var reader = HeadReader()
        var bytes = Array(text.utf8)[...]
        var informational: [Int] = []
        while !bytes.isEmpty {
            let piece = Array(bytes.prefix(size))
            bytes = bytes.dropFirst(piece.count)
            let result: Result = piece.withUnsafeBytes { buffer in
                var input = buffer
                let event = reader.consume(&input)
                informational += reader.takeInformational().map(\.status)
                switch event {
                case .incomplete: return .incomplete
                case .complete(let head):
                    return .complete(
                        head.status,
                        rest: String(decoding: input, as: UTF8.self) + String(decoding: bytes, as: UTF8.self)
                    )
                case .malformed: return .malformed
                case .unparsable: return .unparsable
                }
            }
            if result != .incomplete { return (result, informational) }
        }
        return (.incomplete, informational)
    }

    @Test("A response's head ends with its empty line, however it is cut", arguments: [1, 3, 20, 1000])
    func response(_ size: Int) {
        let text = "HTTP/1.1 103 Early\r\nLink: a\r\n\r\nHTTP/1.1 101 Switching\r\nUpgrade: b\r\n\r\nbody\n"
        let (result, informational) = read(text, size: size)
        #expect(result == .complete(101, rest: "body\n"))
        #expect(informational == [103])
    }

    @Test(
        "Bytes that aren't a response are told by their first line",
        arguments: ["hello\n", "\r\n", "HTTP/2 200\r\n", "HTTP/1.2 200\r\n", "HTTP/1.1x 200\r\n", "SSH-2.0-x\r\nmore"]
    )
    func garbage(_ text: String) {
        #expect(read(text, size: .max).0 == .unparsable)
    }

    @Test(
        "Bytes that can't begin a response are told before their line ends",
        arguments: ["\u{15}\u{3}\u{1}\0\u{2}\u{2}F", "h", "HTTP/2", "HTTP/1.1x", "HTTP/1.1 103 Early\r\n\r\nGET"]
    )
    func garbageWithoutEnd(_ text: String) {
        for size in [1, .max] { #expect(read(text, size: size).0 == .unparsable) }
    }

    @Test("The beginning of a status line may still become one", arguments: ["H", "HTTP/1.", "HTTP/1.0", "HTTP/1.1 "])
    func beginning(_ text: String) {
        for size in [1, .max] { #expect(read(text, size: size).0 == .incomplete) }
    }

    @Test(
        "A head that libcurl refuses is refused",
        arguments: [
            "HTTP/1.1 200 O\0K\r\n", "HTTP/1.1 200 OK\r\nA: b\0c\r\n", "HTTP/1.1 200 OK\r\nA\0: b\r\n",
            "HTTP/1.1 200 OK\r\nnonsense\r\n", "HTTP/1.1 200 OK\r\nA: b\r\nnonsense\r\n",
            "HTTP/1.1 200 OK\r\n A: b\r\n", "HTTP/1.1 200 OK\r\nA\r: b\r\n", "HTTP/1.1 200 OK\r\nA: b\r\nC\rD: e\r\n",
            "HTTP/1.1 103 Early\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\n\tA: b\r\n",
        ]
    )
    func invalid(_ text: String) {
        #expect(read(text, size: .max).0 == .malformed)
    }

    @Test("A status below 100 is none, and isn't skipped", arguments: ["099", "000"])
    func lowStatus(_ status: String) {
        #expect(read("HTTP/1.1 \(status) No\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", size: .max).0 == .unparsable)
    }

    @Test("A later head begins with a status line too, of the same versions")
    func laterVersion() {
        let (result, informational) = read("HTTP/1.0 103 Early\r\n\r\nHTTP/1.2 200 OK\r\n\r\n", size: .max)
        #expect(result == .unparsable)
        #expect(informational == [103])
    }

    @Test("A folded line needs no colon, and lines may end with LF alone")
    func folded() {
        #expect(read("HTTP/1.0 200 OK\nA: b\n c\n\td\n\n", size: .max).0 == .complete(200, rest: ""))
    }

    @Test("A head that doesn't end is given up", arguments: ["HTTP/1.1 200 OK\r\nA: ", "HTTP/1.1 200 OK\r\n"])
    func endless(_ beginning: String) {
        let line = beginning.hasSuffix("\n") ? "A: b\r\n" : "bbbbbb"
        let text = beginning + String(repeating: line, count: 60_000)
        #expect(read(text, size: 1000).0 == .malformed)
    }
}
