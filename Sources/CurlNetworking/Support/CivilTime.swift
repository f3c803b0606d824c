import Foundation
import Glibc

/// A date in the Gregorian calendar and a time of day, in UTC.
struct CivilTime: Equatable, Sendable {
    var year: Int
    var month: Int
    var day: Int
    var hour: Int
    var minute: Int
    var second: Int

    /// nil for invalid dates, and for years before 1601 (RFC 6265 §5.1.1). A leap second counts as the second before it.
    var date: Date? {
        guard (1601...9999).contains(year), (1...12).contains(month), (1...daysInMonth).contains(day),
            (0...23).contains(hour), (0...59).contains(minute), (0...60).contains(second)
        else { return nil }
        let seconds = ((daysSince1970 * 24 + hour) * 60 + minute) * 60 + min(second, 59)
        return Date(timeIntervalSince1970: TimeInterval(seconds))
    }

    private var daysInMonth: Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Years start in March here, so that the leap day is the last of a year.
    private var daysSince1970: Int {
        let shifted = month > 2 ? year : year - 1
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400 + dayOfYear - 719_468
    }

    /// 0 for Sunday.
    var weekday: Int { (daysSince1970 % 7 + 11) % 7 }

    /// In three letters.
    static let monthNames = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// 1 to 12, from the first three letters of the English name, in any case.
    static func month(named name: some Sequence<UInt8>) -> Int? {
        let lowercased = name.lazy.map { $0 | 0x20 }
        return monthNames.firstIndex { $0.utf8.lazy.map { $0 | 0x20 }.elementsEqual(lowercased) }.map { $0 + 1 }
    }
}

extension CivilTime {
    /// Fractions of a second are dropped. Dates outside the range that `date` accepts are clamped to it.
    init(_ date: Date) {
        let seconds = date.timeIntervalSince1970
        // The years 1601 to 9999.
        var time = seconds.isFinite ? time_t(min(max(seconds.rounded(.down), -11_644_473_600), 253_402_300_799)) : 0
        var parts = tm()
        gmtime_r(&time, &parts)
        self.init(
            year: Int(parts.tm_year) + 1900,
            month: Int(parts.tm_mon) + 1,
            day: Int(parts.tm_mday),
            hour: Int(parts.tm_hour),
            minute: Int(parts.tm_min),
            second: Int(parts.tm_sec)
        )
    }

    /// `23:59:59`
    var clock: String { "\(hour.twoDigits):\(minute.twoDigits):\(second.twoDigits)" }

    /// Reads "YYYYMMDDhhmmss"; nil unless those are 14 digits. Whether they make sense is up to `date`.
    init?(compact text: some Sequence<UInt8>) {
        let bytes = Array(text.prefix(15))
        guard bytes.count == 14, bytes.allSatisfy(\.isASCIIDigit) else { return nil }
        func number(_ range: Range<Int>) -> Int { bytes[range].reduce(0) { $0 * 10 + Int($1 & 0x0f) } }
        self.init(
            year: number(0..<4),
            month: number(4..<6),
            day: number(6..<8),
            hour: number(8..<10),
            minute: number(10..<12),
            second: number(12..<14)
        )
    }
}
