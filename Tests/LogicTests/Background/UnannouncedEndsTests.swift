import Foundation
import Testing

@testable import CurlNetworking

@Suite("Servers that end each response as if the connection were lost")
struct UnannouncedEndsTests {
    private static func response(_ fields: [String: String] = [:]) throws -> URLResponse? {
        let url = try Sample.url("http://example.com/")
        return HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: fields)
    }

    @Test("Three times in a row after the same number of bytes")
    func alike() throws {
        var ends = UnannouncedEnds()
        let response = try Self.response()
        func note(_ length: Int64, _ code: URLError.Code = .networkConnectionLost) -> Bool {
            ends.note(URLError(code), after: response, length)
        }
        let first = [note(5), note(5), note(6), note(6), note(6)]
        #expect(first == [false, false, false, false, true])
        let second = [note(5), note(5), note(5, .timedOut), note(5), note(5), note(5)]
        #expect(second == [false, false, false, false, false, true])
    }

    @Test("Not where the length or chunks say that more was to come, or nothing was answered")
    func announced() throws {
        for response in [
            try Self.response(["Content-Length": "9"]), try Self.response(["Transfer-Encoding": "chunked"]), nil,
        ] {
            var ends = UnannouncedEnds()
            let notes = (0..<5).map { _ in ends.note(URLError(.networkConnectionLost), after: response, 5) }
            #expect(!notes.contains(true))
        }
    }
}
