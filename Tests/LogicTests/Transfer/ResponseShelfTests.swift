import Curl
import Foundation
import Testing

@testable import CurlNetworking

@Suite("Responses that are the same to the letter")
struct ResponseShelfTests {
    let url: URL
    let now = MonotonicTime.now
    let head = Sample.head(200, ["Date": "now", "Content-Length": "2"])

    init() throws {
        url = try #require(URL(string: "http://a/b"))
    }

    private func response(
        from shelf: inout ResponseShelf,
        for head: ResponseHead,
        after time: Duration = .zero
    ) throws -> HTTPURLResponse {
        let response = shelf.response(for: head, at: url, now: now + time)
        return try #require(response)
    }

    @Test("Equal heads of one URL show one response, with what stands in them")
    func shared() throws {
        var shelf = ResponseShelf()
        let first = try response(from: &shelf, for: head)
        let second = try response(from: &shelf, for: head)
        #expect(first === second)
        #expect(first.statusCode == 200 && first.url == url && first.expectedContentLength == 2)
        #expect(first.value(forHTTPHeaderField: "date") == "now")
    }

    @Test(
        "Heads that differ in anything show responses of their own",
        arguments: [
            Sample.head(201, ["Date": "now", "Content-Length": "2"]),
            Sample.head(200, ["Date": "now", "Content-Length": "3"]),
            Sample.head(200, ["Date": "now", "content-length": "2"]),
            Sample.head(200, ["Content-Length": "2", "Date": "now"]),
            Sample.head(200, ["Date": "now"]),
            Sample.head(200, ["Date": "now", "Content-Length": "2", "X": ""]),
        ]
    )
    func different(other: ResponseHead) throws {
        var shelf = ResponseShelf()
        let first = try response(from: &shelf, for: head)
        let second = try response(from: &shelf, for: other)
        #expect(first !== second)
        #expect(second.statusCode == other.status)
        #expect(second.value(forHTTPHeaderField: "Content-Length") == other["Content-Length"])
        // The newest is the one that may come again.
        #expect(try response(from: &shelf, for: other) === second)
        #expect(try response(from: &shelf, for: head) !== first)
    }

    @Test("What Unicode alone takes for the same isn't", arguments: ["\u{212A}", "\u{e9}", "a\u{307}\u{323}"])
    func unicode(value: String) throws {
        let twins = ["\u{212A}": "K", "\u{e9}": "e\u{301}", "a\u{307}\u{323}": "a\u{323}\u{307}"]
        let twin = try #require(twins[value])
        try #require(twin == value && !twin.utf8.elementsEqual(value.utf8))
        for (first, second) in [(value, twin), (twin, value)] {
            var shelf = ResponseShelf()
            _ = try response(from: &shelf, for: Sample.head(200, ["X-A": first]))
            let shown = try response(from: &shelf, for: Sample.head(200, ["X-A": second]))
            #expect(shown.value(forHTTPHeaderField: "X-A")?.utf8.elementsEqual(second.utf8) == true)
        }
    }

    @Test("Large heads aren't kept")
    func large() throws {
        var shelf = ResponseShelf()
        let head = Sample.head(200, ["X-A": String(repeating: "a", count: 5000)])
        #expect(try response(from: &shelf, for: head) !== response(from: &shelf, for: head))
    }

    @Test(
        "Every URL has its own",
        arguments: ["http://a/c", "http://a:81/b", "https://a/b", "http://a/b?", "http://a/b#c"]
    )
    func otherURL(text: String) throws {
        var shelf = ResponseShelf()
        let other = try #require(URL(string: text))
        _ = shelf.response(for: head, at: url, now: now)
        let shown = shelf.response(for: head, at: other, now: now)
        #expect(shown?.url == other)
    }

    @Test("A URL that is relative to another stays so")
    func relativeURL() throws {
        var shelf = ResponseShelf()
        let relative = try #require(URL(string: "b", relativeTo: URL(string: "http://a/")))
        _ = shelf.response(for: head, at: url, now: now)
        let shown = shelf.response(for: head, at: relative, now: now)
        #expect(shown?.url?.relativeString == "b")
    }

    @Test("After a second nothing is remembered")
    func forgetting() throws {
        var shelf = ResponseShelf()
        let first = try response(from: &shelf, for: head)
        #expect(try response(from: &shelf, for: head, after: .milliseconds(900)) === first)
        #expect(try response(from: &shelf, for: head, after: .milliseconds(2100)) !== first)
    }

    @Test("However many URLs are asked for, 64 responses are kept")
    func capacity() throws {
        var shelf = ResponseShelf()
        let urls = try (0..<100).map { try #require(URL(string: "http://a/\($0)")) }
        let made = urls.map { shelf.response(for: head, at: $0, now: now) }
        let kept = zip(urls, made).filter { shelf.response(for: head, at: $0, now: now) === $1 }
        #expect(kept.count == 64)
    }
}
