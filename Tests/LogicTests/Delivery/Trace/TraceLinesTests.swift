import Foundation
import Testing

@testable import CurlNetworking

@Suite("libcurl's trace in lines")
struct TraceLinesTests {
    private static let head =
        "GET / HTTP/1.1\r\nHost: a\r\nAuthorization: Basic s3cret\r\nCookie: b=s3cret\r\n\ts3cret\r\nX: y\r\n\r\n"
    private static let lines = [
        "GET / HTTP/1.1", "Host: a", "Authorization: Basic <redacted>", "Cookie: <redacted>", " <redacted>", "X: y", "",
    ]

    @Test("However the trace's bytes are cut, its lines are the same", arguments: TraceLines.Stream.allCases)
    func cuts(stream: TraceLines.Stream) {
        guard stream != .text else { return }
        let bytes = Array(Self.head.utf8)
        for cut in 0...bytes.count {
            var lines = TraceLines(TraceRedactionTests.redaction)
            var result = bytes[..<cut].withUnsafeBytes { lines.lines(of: $0, in: stream) }
            result += bytes[cut...].withUnsafeBytes { lines.lines(of: $0, in: stream) }
            #expect(result == Self.lines)
            #expect(lines.rest().isEmpty)
        }
        var single = TraceLines(TraceRedactionTests.redaction)
        var result: [String] = []
        for byte in bytes { result += [byte].withUnsafeBytes { single.lines(of: $0, in: stream) } }
        #expect(result == Self.lines)
    }

    @Test("A head that goes on in what libcurl calls a body is a head to its end")
    func headInBody() {
        let bytes = Array(Self.head.utf8)
        let body = Array("a=s3cret\r\n\r\n".utf8)
        for cut in 1..<bytes.count {
            var lines = TraceLines(TraceRedactionTests.redaction)
            var result = bytes[..<cut].withUnsafeBytes { lines.lines(of: $0, in: .headerOut) }
            guard lines.isInsideRequestHead else { continue }
            let rest = Array(bytes[cut...]) + body
            let length = rest.withUnsafeBytes { lines.lengthOfRequestHead(in: $0) }
            #expect(length == bytes.count - cut)
            result += rest[..<length].withUnsafeBytes { lines.lines(of: $0, in: .headerOut) }
            #expect(result == Self.lines)
            #expect(!lines.isInsideRequestHead)
            #expect(body.withUnsafeBytes { lines.lengthOfRequestHead(in: $0) } == 0)
        }
    }

    @Test("A line that nothing ends comes at the end, without its secret")
    func unfinished() {
        var lines = TraceLines(TraceRedactionTests.redaction)
        let text = Array("Authorization: s3cret".utf8)
        #expect(text.withUnsafeBytes { lines.lines(of: $0, in: .headerOut) }.isEmpty)
        let rest = lines.rest()
        #expect(rest.map(\.1) == ["Authorization: <redacted>"])
        #expect(rest.map(\.0) == [.headerOut])
    }

    @Test("Nothing is taken out of the lines if that isn't wanted")
    func unredacted() {
        var lines = TraceLines(nil)
        let result = Array(Self.head.utf8).withUnsafeBytes { lines.lines(of: $0, in: .headerIn) }
        #expect(result.joined(separator: "\r\n") + "\r\n" == Self.head)
    }

    @Test("The lines of different streams don't mix")
    func streams() {
        var lines = TraceLines(TraceRedactionTests.redaction)
        #expect(Array("Cookie: a\r\n".utf8).withUnsafeBytes { lines.lines(of: $0, in: .headerIn) }.count == 1)
        #expect(Array(" x".utf8).withUnsafeBytes { lines.lines(of: $0, in: .headerOut) }.isEmpty)
        #expect(Array("text\n".utf8).withUnsafeBytes { lines.lines(of: $0, in: .text) } == ["text"])
        #expect(Array("y\n".utf8).withUnsafeBytes { lines.lines(of: $0, in: .headerOut) } == [" xy"])
    }
}
