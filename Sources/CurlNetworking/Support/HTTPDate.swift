import Foundation

/// Dates in HTTP (RFC 9110 §5.6.7).
///
/// Parses exactly the three standard formats, in upper or lower case (RFC 9111 §4.2): an invalid `Expires` must count as the past.
enum HTTPDate {
    static func parse(_ text: String) -> Date? {
        let bytes = Array(text.utf8)
        // The longest is `Wednesday, 09-Nov-94 08:49:37 GMT`.
        guard bytes.count <= 33 else { return nil }
        return fixed(bytes) ?? obsolete(bytes) ?? asctime(bytes)
    }

    /// `Sun, 06 Nov 1994 08:49:37 GMT`; fractions of a second are dropped. Dates outside the range that is parsed are clamped to it.
    static func text(of date: Date) -> String {
        let time = CivilTime(date)
        let day = "\(dayNames[time.weekday]), \(time.day.twoDigits) \(CivilTime.monthNames[time.month - 1])"
        return "\(day) \(time.year) \(time.clock) GMT"
    }

    private static let dayNames = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let longDayNames = [
        "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday",
    ]

    // MARK: - The formats

    /// `Sun, 06 Nov 1994 08:49:37 GMT`
    private static func fixed(_ bytes: [UInt8]) -> Date? {
        guard matches(bytes, "***, 00 *** 0000 00:00:00 GMT"), isName(bytes[0..<3], of: dayNames) else { return nil }
        return date(bytes, year: number(bytes[12..<16]), month: 8..<11, day: number(bytes[5..<7]), time: 17)
    }

    /// `Sunday, 06-Nov-94 08:49:37 GMT`: a year more than fifty years in the future is the last past one with the same digits.
    private static func obsolete(_ bytes: [UInt8]) -> Date? {
        guard let comma = bytes.firstIndex(of: UInt8(ascii: ",")), isName(bytes[..<comma], of: longDayNames) else {
            return nil
        }
        let rest = Array(bytes[comma...])
        guard matches(rest, ", 00-***-00 00:00:00 GMT") else { return nil }
        let thisYear = CivilTime(Date()).year
        var year = thisYear / 100 * 100 + number(rest[9..<11])
        if year > thisYear + 50 { year -= 100 }
        return date(rest, year: year, month: 5..<8, day: number(rest[2..<4]), time: 12)
    }

    /// `Sun Nov  6 08:49:37 1994`
    private static func asctime(_ bytes: [UInt8]) -> Date? {
        var bytes = bytes
        guard bytes.count == 24, isName(bytes[0..<3], of: dayNames) else { return nil }
        if bytes[8] == UInt8(ascii: " ") { bytes[8] = UInt8(ascii: "0") }
        guard matches(bytes, "*** *** 00 00:00:00 0000") else { return nil }
        return date(bytes, year: number(bytes[20..<24]), month: 4..<7, day: number(bytes[8..<10]), time: 11)
    }

    /// `time` is where `00:00:00` begins.
    private static func date(_ bytes: [UInt8], year: Int, month: Range<Int>, day: Int, time: Int) -> Date? {
        guard let month = CivilTime.month(named: bytes[month]) else { return nil }
        return CivilTime(
            year: year,
            month: month,
            day: day,
            hour: number(bytes[time..<time + 2]),
            minute: number(bytes[time + 3..<time + 5]),
            second: number(bytes[time + 6..<time + 8])
        ).date
    }

    /// Whether `bytes` match `pattern`: a digit for each 0, a letter for each asterisk, anything else matches itself in any case.
    private static func matches(_ bytes: [UInt8], _ pattern: StaticString) -> Bool {
        guard bytes.count == pattern.utf8CodeUnitCount else { return false }
        return pattern.withUTF8Buffer { pattern in
            zip(bytes, pattern).allSatisfy { byte, expected in
                switch expected {
                case UInt8(ascii: "0"): byte.isASCIIDigit
                case UInt8(ascii: "*"): (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
                case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte | 0x20 == expected | 0x20
                default: byte == expected
                }
            }
        }
    }

    private static func isName(_ bytes: ArraySlice<UInt8>, of names: [String]) -> Bool {
        names.contains { String(decoding: bytes, as: UTF8.self).isEqualIgnoringASCIICase(to: $0) }
    }

    /// - Parameter digits: At most four ASCII digits.
    private static func number(_ digits: ArraySlice<UInt8>) -> Int {
        digits.reduce(0) { $0 * 10 + Int($1 & 0x0f) }
    }
}
