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

    @Test("Letters may be of either case, and a year of two digits is no more than fifty years ahead")
    func leniency() {
        #expect(HTTPDate.parse("SUN, 06 nov 1994 08:49:37 gmt") == Date(timeIntervalSince1970: 784_111_777))
        #expect(HTTPDate.parse("Thursday, 18-Aug-50 02:01:18 GMT") == HTTPDate.parse("Thu, 18 Aug 2050 02:01:18 GMT"))
    }

    @Test("A date is read as it was written")
    func writing() {
        #expect(HTTPDate.text(of: Date(timeIntervalSince1970: 784_111_777.9)) == "Sun, 06 Nov 1994 08:49:37 GMT")
        for seconds in [-11_644_473_600, -1, 0, 951_782_400, 4_102_444_799, 253_402_300_799] as [TimeInterval] {
            let date = Date(timeIntervalSince1970: seconds)
            #expect(HTTPDate.parse(HTTPDate.text(of: date)) == date)
        }
        for seconds in [-1e300, 1e300, .infinity, .nan] as [TimeInterval] {
            #expect(HTTPDate.parse(HTTPDate.text(of: Date(timeIntervalSince1970: seconds))) != nil)
        }
    }

    @Test(
        "A text that only looks like a date is none",
        arguments: [
            "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 06 Nov 1994 08:49:37 +0000", "Sun, 6 Nov 1994 08:49:37 GMT",
            "Sun, 06-Nov-1994 08:49:37 GMT", "Sun 06 Nov 1994 08:49:37 GMT", "Sun, 06  Nov 1994 08:49:37 GMT",
            "Foo, 06 Nov 1994 08:49:37 GMT", "Sun, 31 Feb 1994 08:49:37 GMT", "Sun, 06-Nov-94 08:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:37 GMT ", "Sun Nov 06 08:49:37 94",
        ]
    )
    func lookalikes(text: String) {
        #expect(HTTPDate.parse(text) == nil)
    }

    @Test(
        "A text that isn't a date is none",
        arguments: [
            "", " ", "now", "0", "-1", "1994-11-06T08:49:37Z", "Sun, 06 Foo 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 25:49:37 GMT", "Sun, 06 Nov 1994", "\u{0}", String(repeating: "9", count: 10_000),
        ]
    )
    func nonsense(text: String) {
        #expect(HTTPDate.parse(text) == nil)
    }
}
