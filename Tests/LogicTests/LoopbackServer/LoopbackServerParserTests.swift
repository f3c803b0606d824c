import Foundation
import Testing

@testable import CurlNetworkingLoopbackServer

@Suite("The loopback server's request parser")
struct LoopbackServerParserTests {
    /// What came out of a parser, without pointers.
    struct Parsed: Equatable {
        var requestLines: [String] = []
        var headers: [[String]] = []
        var bodies: [Data] = []
        var trailers: [[String]] = []
        var ends = 0
    }

    /// Feeds the pieces one after the other.
    func parse(_ pieces: [Data], headLimit: Int = 64 * 1024) throws -> Parsed {
        var parser = RequestParser(headLimit: headLimit)
        var parsed = Parsed()
        for piece in pieces {
            try piece.withUnsafeBytes { bytes in
                var rest = bytes
                while let event = try parser.next(&rest) {
                    switch event {
                    case .head(let head):
                        parsed.requestLines.append("\(head.method) \(head.target) \(head.httpVersion)")
                        parsed.headers.append(fields(head).map { "\($0.name): \($0.value)" })
                        parsed.bodies.append(Data())
                    case .body(let bytes):
                        parsed.bodies[parsed.bodies.count - 1] += Data(bytes)
                    case .end(let trailers):
                        parsed.trailers.append(trailers.map { "\($0.name): \($0.value)" })
                        parsed.ends += 1
                    }
                }
                #expect(rest.isEmpty)
            }
        }
        return parsed
    }

    func parse(_ text: String) throws -> Parsed { try parse([Data(text.utf8)]) }

    func fields(_ head: RequestHead) -> [LoopbackServer.Field] {
        LoopbackServer.Request(head: head, connection: 1, ordinalOnConnection: 1).headers
    }

    func head(_ text: String) throws -> RequestHead {
        try Data(text.utf8).withUnsafeBytes { try RequestHead($0) }
    }

    static let conversation = """
        GET /a?b=c HTTP/1.1\r\nHost: x\r\nX-Empty:\r\nx-spaced: \t one two \t\r\n\r\n\
        POST /length HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello\
        \r\nPUT /chunks HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n\
        3;name=value\r\nabc\r\n0A\r\n0123456789\r\n0\r\nX-Sum: 7\r\nX-More: 8\r\n\r\n\
        POST /empty HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n\
        HEAD http://host/ HTTP/1.0\nBare: line feeds\n\n
        """

    static let conversationParsed = Parsed(
        requestLines: [
            "GET /a?b=c HTTP/1.1", "POST /length HTTP/1.1", "PUT /chunks HTTP/1.1", "POST /empty HTTP/1.1",
            "HEAD http://host/ HTTP/1.0",
        ],
        headers: [
            ["Host: x", "X-Empty: ", "x-spaced: one two"], ["Content-Length: 5"], ["Transfer-Encoding: chunked"],
            ["Transfer-Encoding: chunked"], ["Bare: line feeds"],
        ],
        bodies: [Data(), Data("hello".utf8), Data("abc0123456789".utf8), Data(), Data()],
        trailers: [[], [], ["X-Sum: 7", "X-More: 8"], [], []],
        ends: 5
    )

    @Test("Several requests in one piece are told apart")
    func pipelined() throws {
        #expect(try parse(Self.conversation) == Self.conversationParsed)
    }

    @Test("Wherever the bytes are split in two, the requests are the same")
    func splitInTwo() throws {
        let bytes = Data(Self.conversation.utf8)
        for index in bytes.indices {
            #expect(try parse([bytes[..<index], bytes[index...]]) == Self.conversationParsed, "split at \(index)")
        }
    }

    @Test("Bytes that come one at a time give the same requests")
    func byteByByte() throws {
        #expect(try parse(Self.conversation.utf8.map { Data([$0]) }) == Self.conversationParsed)
    }

    @Test("The raw head is every byte up to the empty line")
    func rawHead() throws {
        let text = "GET / HTTP/1.1\r\nA: 1\r\n\r\n"
        #expect(try head(text).raw == Data(text.utf8))
    }

    /// A request that isn't one, and the status that says so.
    struct Malformed: CustomTestStringConvertible {
        let text: String
        let status: Int

        init(_ text: String, _ status: Int) {
            self.text = text
            self.status = status
        }

        var testDescription: String { text.debugDescription }
    }

    static let malformedRequests: [Malformed] = [
        Malformed("GET /\r\n\r\n", 400),
        Malformed("GET  / HTTP/1.1\r\n\r\n", 400),
        Malformed("GET / x HTTP/1.1\r\n\r\n", 400),
        Malformed(" / HTTP/1.1\r\n\r\n", 400),
        Malformed("GET / HTTP/1\r\n\r\n", 400),
        Malformed("GET / HTTPS/1.1\r\n\r\n", 400),
        Malformed("GET / HTTP/x.1\r\n\r\n", 400),
        Malformed("PRI * HTTP/2.0\r\n\r\n", 505),
        Malformed("GET / HTTP/1.1\r\nno colon\r\n\r\n", 400),
        Malformed("GET / HTTP/1.1\r\n: no name\r\n\r\n", 400),
        Malformed("GET / HTTP/1.1\r\nName : value\r\n\r\n", 400),
        Malformed("GET / HTTP/1.1\r\nA: b\r\n folded\r\n\r\n", 400),
        Malformed("GET / HTTP/1.1\r\nA: b\0c\r\n\r\n", 400),
        Malformed("GET / HTTP/1.1\r\nA: b\rc\r\n\r\n", 400),
        Malformed("POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400),
        Malformed("POST / HTTP/1.1\r\nContent-Length: +1\r\n\r\n", 400),
        Malformed("POST / HTTP/1.1\r\nContent-Length:\r\n\r\n", 400),
        Malformed("POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n", 400),
        Malformed("POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        Malformed("POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        Malformed("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n", 400),
        Malformed("POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501),
        Malformed("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", 400),
        Malformed("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n\r\n", 400),
        Malformed("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n", 400),
        Malformed("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n+1\r\n", 400),
        Malformed("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFFF\r\n", 400),
        Malformed("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n", 400),
        Malformed("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nno colon\r\n\r\n", 400),
    ]

    @Test("What isn't HTTP is refused", arguments: malformedRequests)
    func refusal(_ request: Malformed) throws {
        for pieces in [[Data(request.text.utf8)], request.text.utf8.map { Data([$0]) }] {
            let rejection = #expect(throws: Rejection.self) { try parse(pieces) }
            #expect(rejection?.status == request.status)
        }
    }

    @Test("A head that's too large is refused before its end is there")
    func headTooLarge() throws {
        let text = "GET / HTTP/1.1\r\nA: " + String(repeating: "a", count: 2000)
        for ending in ["", "\r\n\r\n"] {
            for pieces in [[Data((text + ending).utf8)], (text + ending).utf8.map { Data([$0]) }] {
                let rejection = #expect(throws: Rejection.self) { try parse(pieces, headLimit: 1024) }
                #expect(rejection == .headTooLarge)
            }
        }
    }

    @Test("Endless chunk extensions and trailers are refused")
    func endlessLines() throws {
        let start = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
        let extensions = start + "1;" + String(repeating: "x", count: 5000)
        #expect(throws: Rejection.self) { try parse(extensions) }
        let trailers = start + "0\r\n" + String(repeating: "A: bcdefghijklmnop\r\n", count: 4000)
        #expect(throws: Rejection.self) { try parse(trailers) }
    }

    @Test("Random bytes never get further than a refusal")
    func randomBytes() throws {
        let alphabet = Array("GET / HTTP/1.1\r\n:; 0Aa\0\u{7f}".utf8)
        for seed in 0..<2000 {
            let random = GeneratedBody.bytes(seed: UInt64(seed), length: 200)
            let noise = random.prefix(Int(random[0])).map { alphabet[Int($0) % alphabet.count] }
            let start = seed % 2 == 0 ? "" : "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
            do {
                let parsed = try parse([Data(start.utf8), Data(noise)])
                #expect(parsed.ends == 0)
            } catch is Rejection {}
        }
    }

    @Test(
        "A connection lives on as RFC 9112 says",
        arguments: [
            ("HTTP/1.1", nil, true), ("HTTP/1.1", "close", false), ("HTTP/1.1", "Keep-Alive , CLOSE", false),
            ("HTTP/1.0", nil, false), ("HTTP/1.0", "keep-alive", true), ("HTTP/1.1", "upgrade", true),
        ]
    )
    func keepAlive(version: String, connection: String?, expected: Bool) throws {
        let field = connection.map { "Connection: \($0)\r\n" } ?? ""
        #expect(try head("GET / \(version)\r\n\(field)\r\n").keepsAlive == expected)
    }

    @Test("Path, query and parameters come out of every form of target")
    func targets() {
        let origin = LoopbackServer.Request(target: "/a%20b?x=1&y=two%20words&z#f")
        #expect(origin.path == "/a%20b")
        #expect(origin.query == "x=1&y=two%20words&z")
        #expect(origin.parameter("y") == "two words")
        #expect(origin.parameter("z") == "")
        #expect(origin.parameter("none") == nil)
        let absolute = LoopbackServer.Request(target: "http://host:1/p?q")
        #expect(absolute.path == "/p")
        #expect(absolute.query == "q")
        #expect(LoopbackServer.Request(target: "http://host").path == "/")
        #expect(LoopbackServer.Request(method: "CONNECT", target: "host:443").path == "host:443")
        #expect(LoopbackServer.Request(target: "/").query == nil)
    }

    @Test("Header fields are found whatever their case, in order")
    func headerLookup() {
        let request = LoopbackServer.Request(headers: ["Accept": "a", "COOKIE": "b", "accept": "c"])
        #expect(request.header("accept") == "a")
        #expect(request.header("cookie") == "b")
        #expect(request.header("cooki") == nil)
        #expect(request.headers(named: "ACCEPT") == ["a", "c"])
    }
}
