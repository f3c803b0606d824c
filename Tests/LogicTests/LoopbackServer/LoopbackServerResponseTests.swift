import Foundation
import Testing

@testable import CurlNetworkingLoopbackServer

@Suite("The loopback server's responses")
struct LoopbackServerResponseTests {
    typealias Request = LoopbackServer.Request
    typealias Response = LoopbackServer.Response

    static let date = "Sun, 06 Nov 1994 08:49:37 GMT"

    /// What would go over the wire, and whether the connection would be closed behind it.
    func rendered(_ response: Response, for request: Request = Request()) -> (text: String, closes: Bool) {
        var script = Script(response.steps(for: request, date: Self.date))
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 10_000, alignment: 1)
        defer { buffer.deallocate() }
        var (text, closes) = ("", false)
        while !script.isFinished {
            if let action = script.takeAction() {
                if case .close = action { closes = true }
            } else {
                let count = script.copy(to: buffer)
                text += String(decoding: buffer[..<count], as: UTF8.self)
                script.sent(count)
            }
        }
        return (text, closes)
    }

    @Test("A text has date, type and length, and leaves the connection open")
    func text() {
        let (text, closes) = rendered(.text("Grüße").header("X-A", "1").headers(["X-B": "2", "x-b": "3"]))
        let expected = """
            HTTP/1.1 200 OK\r\nDate: \(Self.date)\r\nContent-Type: text/plain; charset=utf-8\r\n\
            X-A: 1\r\nX-B: 2\r\nx-b: 3\r\nContent-Length: 7\r\n\r\nGrüße
            """
        #expect(text == expected)
        #expect(!closes)
    }

    @Test("HEAD gets the same head and no body")
    func head() {
        let get = rendered(.text("Hello")).text
        #expect(rendered(.text("Hello"), for: Request(method: "HEAD")).text + "Hello" == get)
    }

    @Test(
        "204, 304 and a tunnel have neither body nor length",
        arguments: [("GET", 204), ("GET", 304), ("CONNECT", 200)]
    )
    func bodiless(method: String, status: Int) {
        let text = rendered(.text("x", status: status), for: Request(method: method)).text
        #expect(text.hasSuffix("\r\n\r\n"))
        #expect(!text.contains("Content-Length"))
    }

    @Test("A field of one's own replaces the server's")
    func ownFields() {
        let text = rendered(.text("x").header("content-length", "5").header("date", "never")).text
        #expect(text.contains("content-length: 5\r\n"))
        #expect(!text.contains("Content-Length"))
        #expect(!text.contains("Date"))
    }

    @Test("Connection: close is said and done")
    func closing() {
        for (response, request) in [
            (Response.text("x").closing(), Request()), (.text("x").untilClose(), Request()),
            (.text("x"), Request(httpVersion: "HTTP/1.0")), (.chunked(["x"]), Request(httpVersion: "HTTP/1.0")),
        ] {
            let (text, closes) = rendered(response, for: request)
            #expect(text.contains("Connection: close\r\n"))
            #expect(closes)
            #expect(text.hasSuffix("\r\n\r\nx"))
        }
    }

    @Test("Chunks and trailers are framed")
    func chunked() {
        let text = rendered(.chunked(["abc", "0123456789abcdef"], trailers: ["X-Sum": "1"])).text
        #expect(text.contains("Transfer-Encoding: chunked\r\n"))
        #expect(text.hasSuffix("\r\n\r\n3\r\nabc\r\n10\r\n0123456789abcdef\r\n0\r\nX-Sum: 1\r\n\r\n"))
    }

    @Test("A reason and a redirect's location are sent as given")
    func status() {
        #expect(rendered(.status(404)).text.hasPrefix("HTTP/1.1 404 Not Found\r\n"))
        #expect(rendered(.status(299, reason: "Fine, too")).text.hasPrefix("HTTP/1.1 299 Fine, too\r\n"))
        #expect(rendered(.status(299)).text.hasPrefix("HTTP/1.1 299 \r\n"))
        let redirect = rendered(.redirect(to: "../a b", status: 307)).text
        #expect(redirect.hasPrefix("HTTP/1.1 307 "))
        #expect(redirect.contains("Location: ../a b\r\n"))
    }

    @Test("An echo decodes to the request")
    func echo() throws {
        let request = Request(method: "PUT", target: "/x", headers: ["A": "b"], body: Data([0, 255]))
        let text = rendered(.echo(request)).text
        let body = try #require(text.components(separatedBy: "\r\n\r\n").last)
        let echo = try JSONDecoder().decode(LoopbackServer.Echo.self, from: Data(body.utf8))
        #expect(echo == LoopbackServer.Echo(request))
        #expect(echo.body == Data([0, 255]))
    }

    // MARK: Resources

    static let modified = Date(timeIntervalSince1970: 784_111_777)

    func resource(_ headers: KeyValuePairs<String, String>, method: String = "GET", ranges: Bool = true) -> String {
        let request = Request(method: method, headers: headers)
        return rendered(
            .resource(.text("0123456789"), for: request, etag: "v1", lastModified: Self.modified, acceptRanges: ranges),
            for: request
        ).text
    }

    @Test("A resource says what it is")
    func wholeResource() {
        let text = resource([:])
        #expect(text.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(text.contains("ETag: \"v1\"\r\nLast-Modified: \(Self.date)\r\nAccept-Ranges: bytes\r\n"))
        #expect(text.hasSuffix("Content-Length: 10\r\n\r\n0123456789"))
    }

    @Test("A range is answered with 206 and the part")
    func part() {
        let text = resource(["Range": "bytes=2-4"])
        #expect(text.hasPrefix("HTTP/1.1 206 Partial Content\r\n"))
        #expect(text.contains("Content-Range: bytes 2-4/10\r\n"))
        #expect(text.hasSuffix("Content-Length: 3\r\n\r\n234"))
    }

    @Test("A range beyond the end is answered with 416 and the length")
    func unsatisfiable() {
        let text = resource(["Range": "bytes=10-"])
        #expect(text.hasPrefix("HTTP/1.1 416 "))
        #expect(text.contains("Content-Range: bytes */10\r\n"))
        #expect(text.hasSuffix("Content-Length: 0\r\n\r\n"))
    }

    @Test("Range means nothing to HEAD, nor where ranges aren't accepted")
    func rangeIgnored() {
        #expect(resource(["Range": "bytes=2-4"], method: "HEAD").hasPrefix("HTTP/1.1 200 "))
        let text = resource(["Range": "bytes=2-4"], ranges: false)
        #expect(text.hasPrefix("HTTP/1.1 200 "))
        #expect(text.contains("Accept-Ranges: none\r\n"))
    }

    @Test(
        "If-Range holds for the same strong tag or date only",
        arguments: [
            ("\"v1\"", 206), ("W/\"v1\"", 200), ("\"v2\"", 200), (date, 206), ("Sun, 06 Nov 1994 08:49:38 GMT", 200),
            ("nonsense", 200),
        ]
    )
    func ifRange(condition: String, status: Int) {
        #expect(resource(["Range": "bytes=2-4", "If-Range": condition]).hasPrefix("HTTP/1.1 \(status) "))
    }

    @Test(
        "304 is for who has the current version",
        arguments: [
            ("If-None-Match", "\"v1\"", 304), ("If-None-Match", "W/\"v1\"", 304),
            ("If-None-Match", "\"v0\", \"v1\"", 304),
            ("If-None-Match", "*", 304), ("If-None-Match", "\"v2\"", 200), ("If-Modified-Since", date, 304),
            ("If-Modified-Since", "Sun, 06 Nov 1994 08:49:38 GMT", 304),
            ("If-Modified-Since", "Sun, 06 Nov 1994 08:49:36 GMT", 200), ("If-Modified-Since", "nonsense", 200),
        ]
    )
    func notModified(name: String, value: String, status: Int) {
        let request = Request(headers: [name: value, "Range": "bytes=0-"])
        let response = Response.resource(.text("0123456789"), for: request, etag: "v1", lastModified: Self.modified)
        let text = rendered(response, for: request).text
        #expect(text.hasPrefix("HTTP/1.1 \(status == 200 ? 206 : 304) "))
        #expect(resource([name: value], method: "POST").hasPrefix("HTTP/1.1 200 "))
    }
}
