import Foundation
import Testing

@testable import CurlNetworking

@Suite("Servers that end each response as if the connection were lost")
struct UnannouncedEndsTests {
    @Test("A connection that is lost three times in a row after the same number of bytes ends the response")
    func alike() {
        var ends = UnannouncedEnds()
        func note(_ length: Int64, _ code: URLError.Code = .networkConnectionLost) -> Bool {
            ends.note(URLError(code), after: Sample.head(200), length)
        }
        let first = [note(5), note(5), note(6), note(6), note(6)]
        #expect(first == [false, false, false, false, true])
        let second = [note(5), note(5), note(5, .timedOut), note(5), note(5), note(5)]
        #expect(second == [false, false, false, false, false, true])
    }

    @Test("A lost connection ends no response whose length, chunks or HTTP/2 say that more was to come")
    func announced() {
        let http2 = ResponseHead(version: "HTTP/2", status: 200, fields: [])
        let heads = [
            Sample.head(200, ["Content-Length": "9"]), Sample.head(200, ["Transfer-Encoding": "chunked"]),
            Sample.head(200, ["Content-Length": "9", "Content-Encoding": "gzip"]), http2, nil,
        ]
        for head in heads {
            var ends = UnannouncedEnds()
            let notes = (0..<5).map { _ in ends.note(URLError(.networkConnectionLost), after: head, 5) }
            #expect(!notes.contains(true))
        }
    }
}
