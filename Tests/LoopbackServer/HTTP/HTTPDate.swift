import Foundation

extension LoopbackServer {
    /// `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, section 5.6.7). The two obsolete formats aren't understood.
    package enum HTTPDate {
        private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
        private static let months = [
            "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
        ]

        /// Fractions of a second are dropped.
        package static func format(_ date: Date) -> String {
            format(secondsSince1970: time_t(date.timeIntervalSince1970.rounded(.down)))
        }

        static func format(secondsSince1970 seconds: time_t) -> String {
            var seconds = seconds
            var parts = tm()
            gmtime_r(&seconds, &parts)
            let day = "\(days[Int(parts.tm_wday)]), \(padded(parts.tm_mday)) \(months[Int(parts.tm_mon)])"
            let clock = "\(padded(parts.tm_hour)):\(padded(parts.tm_min)):\(padded(parts.tm_sec))"
            return "\(day) \(parts.tm_year + 1900) \(clock) GMT"
        }

        package static func parse(_ text: String) -> Date? {
            let words = text.split { $0 == " " || $0 == ":" }
            guard words.count == 8, words[7] == "GMT", let month = months.firstIndex(of: String(words[2])),
                let day = Int32(words[1]), let year = Int32(words[3]), (0...9999).contains(year),
                let hour = Int32(words[4]), let minute = Int32(words[5]), let second = Int32(words[6])
            else { return nil }
            var parts = tm()
            parts.tm_mday = day
            parts.tm_mon = Int32(month)
            parts.tm_year = year - 1900
            parts.tm_hour = hour
            parts.tm_min = minute
            parts.tm_sec = second
            return Date(timeIntervalSince1970: TimeInterval(timegm(&parts)))
        }

        private static func padded(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
    }
}
