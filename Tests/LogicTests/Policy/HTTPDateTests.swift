import Foundation
import Testing

@testable import CurlNetworking

@Suite("Dates of HTTP")
struct HTTPDateTests {
    /// RFC 9110 §5.6.7 gives the same moment in all three formats.
    @Test(
        "All three formats of RFC 9110 are understood",
        arguments: [
            "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
        ]
    )
    func formats(text: String) {
        #expect(HTTPDate.parse(text) == Date(timeIntervalSince1970: 784_111_777))
    }

    @Test("The asctime format's two-digit day is understood")
    func asctime() {
        #expect(HTTPDate.parse("Wed Nov 16 08:49:37 1994") == Date(timeIntervalSince1970: 784_975_777))
    }

    @Test(
        "What is no date is none",
        arguments: [
            "", " ", "now", "0", "-1", "1994-11-06T08:49:37Z", "Sun, 06 Foo 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 25:49:37 GMT", "Sun, 06 Nov 1994", "\u{0}", String(repeating: "9", count: 10_000),
        ]
    )
    func nonsense(text: String) {
        #expect(HTTPDate.parse(text) == nil)
    }
}
