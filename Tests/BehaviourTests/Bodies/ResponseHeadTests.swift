import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("The heads of responses", .timeLimit(.minutes(1)))
struct ResponseHeadTests {
    private func response(_ head: String, _ body: String = "hello") async throws -> HTTPURLResponse {
        try await response(Data(head.utf8), body)
    }

    private func response(_ head: Data, _ body: String = "hello") async throws -> HTTPURLResponse {
        let rig = try Rig { _ in .raw([.bytes(head), .bytes(body), .close]) }
        defer { rig.stop() }
        let (data, response) = try await rig.session.data(from: rig.url("/"))
        #expect(data == Data(body.utf8))
        return try #require(response as? HTTPURLResponse)
    }

    @Test("Fields of the same name are joined by a comma, in order, whatever the case of their names")
    func duplicates() async throws {
        let response = try await response(
            "HTTP/1.1 200 OK\r\nX-A: 1\r\nVary: a\r\nx-a: 2\r\nX-A: 3, 4\r\nSet-Cookie: a=b\r\nSet-Cookie: c=d\r\n\r\n"
        )
        #expect(response.value(forHTTPHeaderField: "X-A") == "1, 2, 3, 4")
        #expect(response.value(forHTTPHeaderField: "Set-Cookie") == "a=b, c=d")
        #expect(response.value(forHTTPHeaderField: "Vary") == "a")
        #expect(response.allHeaderFields.count == 3)
    }

    @Test("Fields are found whatever the case of their names")
    func names() async throws {
        let response = try await response("HTTP/1.1 200 OK\r\ncOnTeNt-TyPe: text/html; charset=utf-8\r\n\r\n")
        #expect(response.value(forHTTPHeaderField: "Content-Type") == "text/html; charset=utf-8")
        #expect(response.mimeType == "text/html")
        #expect(response.textEncodingName?.lowercased() == "utf-8")
    }

    @Test("A colon needs no space behind it, and blanks around a value don't belong to it")
    func blanks() async throws {
        let response = try await response(
            "HTTP/1.1 200 OK\r\nX-None:value\r\nX-Many: \t value \t \r\nX-Empty:\r\nX-Colons:a:b::c\r\n\r\n"
        )
        #expect(response.value(forHTTPHeaderField: "X-None") == "value")
        #expect(response.value(forHTTPHeaderField: "X-Many") == "value")
        #expect(response.value(forHTTPHeaderField: "X-Empty") == "")
        #expect(response.value(forHTTPHeaderField: "X-Colons") == "a:b::c")
    }

    @Test("A folded line continues the value above it", arguments: [" ", "\t", "    "])
    func folding(blank: String) async throws {
        let response = try await response("HTTP/1.1 200 OK\r\nX-A: first\r\n\(blank)second\r\nX-B: b\r\n\r\n")
        #expect(response.value(forHTTPHeaderField: "X-A") == "first second")
        #expect(response.value(forHTTPHeaderField: "X-B") == "b")
    }

    @Test("Trailers with a line that isn't a field are the server's fault", arguments: ["X", "X\0: y"])
    func invalidTrailers(line: String) async throws {
        let text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\(line)\r\n\r\n"
        let rig = try Rig { _ in .raw([.bytes(text), .close]) }
        defer { rig.stop() }
        let error = await rig.session.load(rig.url("/")).error
        #expect(error?.code == .badServerResponse)
        #expect(error?.localizedDescription.contains("bad argument") == false)
    }

    @Test("Values that aren't UTF-8 are taken as Latin-1")
    func latin1() async throws {
        let head = Data("HTTP/1.1 200 OK\r\nX-UTF8: für\r\nX-Latin: f".utf8) + Data([0xFC]) + Data("r\r\n\r\n".utf8)
        let response = try await response(head)
        #expect(response.value(forHTTPHeaderField: "X-UTF8") == "für")
        #expect(response.value(forHTTPHeaderField: "X-Latin") == "für")
    }

    @Test("Status lines need no reason, and any three digits are a status", arguments: ["200", "299", "599", "999"])
    func statusLine(status: String) async throws {
        #expect(try await response("HTTP/1.1 \(status)\r\n\r\n").statusCode == Int(status))
        #expect(try await response("HTTP/1.1 \(status) Some reason \r\n\r\n").statusCode == Int(status))
    }

    @Test("HTTP/1.0 servers and lines that end with LF alone are understood")
    func oldServers() async throws {
        let response = try await response("HTTP/1.0 200 OK\nX-A: b\nContent-Length: 5\n\n")
        #expect(response.value(forHTTPHeaderField: "X-A") == "b")
        #expect(response.expectedContentLength == 5)
    }

    @Test(
        "The response's length is the task's: none beside chunks, and one that is repeated counts once",
        arguments: [("Transfer-Encoding: chunked", nil), ("Content-Length: 15", 15), ("X-A: b", 15)]
            as [(String, Int64?)]
    )
    func length(field: String, expected: Int64?) async throws {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\(field)\r\n\r\n"
        let rig = try Rig { _ in .raw([.bytes(head), .bytes("5\r\nhello\r\n0\r\n\r\n"), .close]) }
        defer { rig.stop() }
        let delegate = RecordingDelegate()
        let task = rig.session.dataTask(with: rig.url("/"))
        task.delegate = delegate
        task.resume()
        try await delegate.success(of: task)
        let response = try #require(task.response as? HTTPURLResponse)
        #expect(response.expectedContentLength == expected ?? NSURLSessionTransferSizeUnknown)
        #expect(response.value(forHTTPHeaderField: "Content-Length") == expected.map { "\($0)" })
        #expect(task.countOfBytesExpectedToReceive == response.expectedContentLength)
    }

    @Test("A large head is taken, a monstrous one fails the task", arguments: [50, 2000])
    func size(count: Int) async throws {
        let fields = (0..<count).map { "X-\($0): \(String(repeating: "v", count: 1000))\r\n" }.joined()
        let head = "HTTP/1.1 200 OK\r\n\(fields)\r\n"
        if count == 50 {
            #expect(try await response(head).allHeaderFields.count == 50)
        } else {
            let error = await #expect(throws: URLError.self) { _ = try await response(head) }
            #expect(error?.code == .badServerResponse)
        }
    }

    @Test("The file's name is suggested by Content-Disposition, else by the URL")
    func suggestedFilename() async throws {
        let response = try await response(
            "HTTP/1.1 200 OK\r\nContent-Disposition: attachment; filename=\"song.wav\"\r\n\r\n"
        )
        #expect(response.suggestedFilename == "song.wav")
    }

    @Test(
        "The stock class suggests any name, even dots or nothing, and knows one form of the parameter",
        arguments: [
            ("filename=\"..\"", ".."), ("filename=\".\"", "."), ("filename=\"\"", ""), ("filename=\"../a\"", ".._a"),
            ("FILENAME=\"a.txt\"", "Unknown"), ("filename*=UTF-8''a.txt", "Unknown"),
        ]
    )
    func suggestedAsItIs(parameter: String, name: String) async throws {
        let response = try await response(
            "HTTP/1.1 200 OK\r\nContent-Disposition: attachment; \(parameter)\r\n\r\n"
        )
        #expect(response.suggestedFilename == name)
    }

    @Test("The stock class reads the charset in lower case only, and takes several types for one")
    func contentTypes() async throws {
        let upper = try await response("HTTP/1.1 200 OK\r\nContent-Type: TEXT/HTML;CHARSET=UTF-8\r\n\r\n")
        #expect(upper.mimeType == "text/html" && upper.textEncodingName == nil)
        let several = try await response(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Type: text/plain\r\n\r\n"
        )
        #expect(several.mimeType == "text/html, text/plain")
    }
}
