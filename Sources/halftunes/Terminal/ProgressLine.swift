import Foundation

/// One line about a download: its name, a bar, and its status.
struct ProgressLine {
    /// The characters of the bar.
    struct Glyphs: Equatable {
        var done: Character
        var todo: Character

        static let unicode = Glyphs(done: "━", todo: "─")
        static let ascii = Glyphs(done: "#", todo: ".")

        /// The best that the terminal can show, according to the locale.
        static func suitable(for environment: [String: String] = ProcessInfo.processInfo.environment) -> Glyphs {
            let locale = ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap { environment[$0] }.first { !$0.isEmpty } ?? ""
            let codeset = locale.uppercased().filter { $0.isLetter || $0.isNumber }
            return codeset.hasSuffix("UTF8") ? .unicode : .ascii
        }
    }

    var glyphs = Glyphs.suitable()
    var columns: Int

    func text(_ download: Download, note: String? = nil) -> String {
        text(title: download.item.title, fraction: download.fraction, status: note ?? Self.status(of: download))
    }

    /// - Parameter fraction: nil for no bar.
    func text(title: String, fraction: Double?, status: String) -> String {
        let titleColumns = max(12, columns / 3)
        let statusColumns = max(12, min(44, columns * 2 / 5))
        let barColumns = columns - titleColumns - statusColumns - 8
        var line = title.printable.fitted(to: titleColumns)
        if barColumns >= 5 {
            line += " " + bar(fraction, columns: barColumns)
            line += " " + (fraction.map { "\(Int($0 * 100)) %" } ?? "").fittedRight(to: 5) + " "
        } else {
            line += " "
        }
        return (line + status.printable).fitted(to: columns)
    }

    func bar(_ fraction: Double?, columns: Int) -> String {
        guard let fraction else { return String(repeating: " ", count: columns) }
        let done = Int((Double(columns) * min(1, max(0, fraction))).rounded(.down))
        return String(repeating: glyphs.done, count: done) + String(repeating: glyphs.todo, count: columns - done)
    }

    /// Its status, in a few words.
    static func status(of download: Download) -> String {
        let amount = amount(of: download)
        switch download.state {
        case .waiting: return "waiting"
        case .running: return ([amount] + rate(of: download)).joined(separator: "  ")
        case .pausing: return "pausing"
        case .paused: return download.received > 0 ? "paused at \(amount)" : "paused"
        case .checking: return "checking"
        case .finished(.verified): return "done, SHA-256 ok"
        case .finished(.unverified): return "done, \(ByteCount.short(download.received))"
        case .finished(.alreadyThere): return "already there"
        case .cancelled: return "cancelled"
        case .failed(let failure): return "failed: \(failure.message)"
        }
    }

    private static func amount(of download: Download) -> String {
        let received = ByteCount.short(download.received)
        return download.expected.map { "\(received) of \(ByteCount.short($0))" } ?? received
    }

    private static func rate(of download: Download) -> [String] {
        download.rate.map { ["\(ByteCount.short(Int64($0)))/s"] } ?? []
    }
}
