import Foundation
import Testing

@testable import CurlNetworking

@Suite("Dates and times of day")
struct CivilTimeTests {
    @Test("14 digits are a date and a time, leap days included")
    func compact() {
        let time = CivilTime(year: 1994, month: 11, day: 6, hour: 8, minute: 49, second: 37)
        #expect(CivilTime(compact: "19941106084937".utf8) == time)
        #expect(time.date == Date(timeIntervalSince1970: 784_111_777))
        #expect(CivilTime(compact: "20240229235959".utf8)?.date == Date(timeIntervalSince1970: 1_709_251_199))
        #expect(CivilTime(compact: "20000229000000".utf8)?.date == Date(timeIntervalSince1970: 951_782_400))
    }

    @Test(
        "A date's fields, weekday and clock are those in UTC",
        arguments: [
            (-11_644_473_600.0, "1601-1-1 1 00:00:00"), (-0.5, "1969-12-31 3 23:59:59"), (0, "1970-1-1 4 00:00:00"),
            (784_111_777.9, "1994-11-6 0 08:49:37"), (1_709_251_199, "2024-2-29 4 23:59:59"),
            (253_402_300_799, "9999-12-31 5 23:59:59"), (-.greatestFiniteMagnitude, "1601-1-1 1 00:00:00"),
            (.greatestFiniteMagnitude, "9999-12-31 5 23:59:59"), (.infinity, "1970-1-1 4 00:00:00"),
        ]
    )
    func fields(seconds: TimeInterval, text: String) {
        let time = CivilTime(Date(timeIntervalSince1970: seconds))
        #expect("\(time.year)-\(time.month)-\(time.day) \(time.weekday) \(time.clock)" == text)
    }

    @Test(
        "Anything but 14 digits is no time",
        arguments: ["", "1994110608493", "199411060849370", "1994110608493x", "+9941106084937", "１9941106084937"]
    )
    func noTime(text: String) {
        #expect(CivilTime(compact: text.utf8) == nil)
    }

    @Test(
        "An impossible date is none",
        arguments: [
            "20300231000000", "20300229000000", "21000229000000", "20300431000000", "20300100000000", "20300001000000",
            "20301301000000", "20301231240000", "20301231236000", "20301231235961", "00000101000000",
        ]
    )
    func impossible(text: String) {
        #expect(CivilTime(compact: text.utf8) != nil)
        #expect(CivilTime(compact: text.utf8)?.date == nil)
    }
}
