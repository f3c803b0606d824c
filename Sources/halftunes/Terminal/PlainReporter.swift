import Foundation

/// Reports downloads as lines, for pipes and files: events, and progress in steps.
struct PlainReporter: DownloadReporter {
    /// How much progress is worth a line.
    let step: Double
    let write: @Sendable (String) -> Void

    private var news: [URL: PlainNews] = [:]

    init(step: Double = 0.1, write: @escaping @Sendable (String) -> Void = { Console.print($0) }) {
        self.step = step
        self.write = write
    }

    mutating func note(_ download: Download) {
        guard let line = PlainLine(download),
            news[download.id, default: PlainNews()].isWorthReporting(line, expected: download.expected, step: step)
        else { return }
        write("\(download.item.fileName): \(line.text)".printable)
    }

    mutating func note(_ download: Download, retryingIn delay: Duration) {
        note(download)
        write("\(download.item.fileName): again in \(delay.components.seconds) s".printable)
    }

    mutating func finish(_ summary: [String]) {
        for line in summary { write(line.printable) }
    }
}

/// Decides what is worth a line about one transfer: events, and progress in steps.
struct PlainNews {
    /// The last progress that was worth a line.
    private var last: PlainLine?

    /// - Parameters:
    ///   - expected: How many bytes there will be, if known.
    ///   - step: How much progress is worth a line.
    mutating func isWorthReporting(_ line: PlainLine, expected: Int64?, step: Double = 0.1) -> Bool {
        guard isNews(line, stepInBytes: step * Double(expected ?? 10_000_000)) else { return false }
        last = line
        return true
    }

    private func isNews(_ line: PlainLine, stepInBytes: Double) -> Bool {
        guard case .progress(let now, _) = line else { return line != last }
        switch last {
        case .progress(let before, _), .resumed(let before, _): return Double(now - before) >= stepInBytes
        case .started: return Double(now) >= stepInBytes
        case .paused, .done, .cancelled, .failed, nil: return true
        }
    }
}

/// A line about a download, in a form that a program can read back.
enum PlainLine: Equatable {
    case started
    case resumed(at: Int64, of: Int64?)
    case progress(Int64, of: Int64?)
    case paused(at: Int64, of: Int64?)
    case done(String)
    case cancelled
    case failed(String)

    /// nil if there is nothing to say.
    init?(_ download: Download) {
        let (received, expected) = (download.received, download.expected)
        switch download.state {
        case .waiting, .pausing, .checking: return nil
        case .running(_, let origin):
            if download.gained == 0, let offset = download.resumedAt {
                self = .resumed(at: offset, of: expected)
            } else if download.gained != 0 || received > 0 && origin == nil {
                // It may have started before this run.
                self = .progress(received, of: expected)
            } else {
                // Whether it resumes will be reported soon.
                guard origin == nil else { return nil }
                self = .started
            }
        case .paused: self = .paused(at: received, of: expected)
        case .finished(.verified): self = .done("\(received) bytes, SHA-256 ok")
        case .finished(.unverified): self = .done("\(received) bytes")
        case .finished(.alreadyThere): self = .done("\(received) bytes, already there")
        case .cancelled: self = .cancelled
        case .failed(let failure): self = .failed(failure.message)
        }
    }

    var text: String {
        switch self {
        case .started: "started"
        case .resumed(let bytes, let total): "resumed at \(Self.amount(bytes, total))"
        case .progress(let bytes, let total): "at \(Self.amount(bytes, total))"
        case .paused(0, _): "paused"
        case .paused(let bytes, let total): "paused at \(Self.amount(bytes, total))"
        case .done(let how): "done, \(how)"
        case .cancelled: "cancelled"
        case .failed(let message): "failed: \(message)"
        }
    }

    private static func amount(_ bytes: Int64, _ total: Int64?) -> String {
        total.map { "\(bytes) of \($0) bytes (\(percentage(bytes, of: $0)) %)" } ?? "\(bytes) bytes"
    }

    /// Rounded down. Numbers from a server or a file may be of any size.
    private static func percentage(_ bytes: Int64, of total: Int64) -> Int64 {
        guard total > 0 else { return 100 }
        let (hundredfold, overflows) = bytes.multipliedReportingOverflow(by: 100)
        return overflows ? bytes / max(1, total / 100) : hundredfold / total
    }

    /// Parses a line that `text` wrote about the file `name`; nil for anything else.
    init?(_ line: some StringProtocol, about name: String) {
        guard line.hasPrefix("\(name): ") else { return nil }
        let text = line.dropFirst(name.count + 2)
        let words = text.split(separator: " ")
        let numbers = words.compactMap { Int64($0) }
        let total = words.contains("of") ? numbers.dropFirst().first : nil
        switch (words.first, numbers.first) {
        case ("started", _): self = .started
        case ("resumed", let bytes?): self = .resumed(at: bytes, of: total)
        case ("at", let bytes?): self = .progress(bytes, of: total)
        case ("paused", let bytes?): self = .paused(at: bytes, of: total)
        case ("done,", _): self = .done(String(text.dropFirst("done, ".count)))
        case ("cancelled", _): self = .cancelled
        case ("failed:", _): self = .failed(String(text.dropFirst("failed: ".count)))
        default: return nil
        }
    }
}
