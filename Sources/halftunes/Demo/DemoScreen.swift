import Foundation

/// Shows a demo as it goes: bars on a terminal, lines elsewhere.
struct DemoScreen {
    private let isTerminal = Console.isTerminal
    private var live = LiveLines()
    private var lines = PlainReporter(step: 0.25) { Console.print("  " + $0) }
    private var order: [URL] = []
    private var downloads: [URL: Download] = [:]
    private var notes: [URL: (fraction: Double?, text: String)] = [:]

    func heading(_ text: String) {
        let text = isTerminal ? "\u{1B}[1m\(text)\u{1B}[0m" : text
        Console.print("\n" + text)
    }

    func say(_ text: String) {
        Console.print("  " + text.printable)
    }

    mutating func show(_ download: Download) {
        if downloads.updateValue(download, forKey: download.id) == nil { order.append(download.id) }
        if isTerminal { draw(isUrgent: !download.isBusy) } else { lines.note(download) }
    }

    /// Shows another process's progress with a download.
    mutating func show(_ line: PlainLine, about item: DownloadItem, process: Int32) {
        let fraction: Double? =
            switch line {
            case .resumed(let bytes, let total?), .progress(let bytes, let total?):
                Double(bytes) / Double(max(1, total))
            case .done: 1
            case .started, .resumed, .progress, .paused, .cancelled, .failed: nil
            }
        notes[item.url] = (fraction, "process \(process): \(Self.brief(line))")
        if isTerminal {
            draw(isUrgent: false)
        } else if Self.isShown(line) {
            say("\(item.fileName): process \(process): \(line.text)")
        }
    }

    mutating func finishBars() {
        if isTerminal, !order.isEmpty { draw(isUrgent: true) }
        live = LiveLines()
    }

    private mutating func draw(isUrgent: Bool) {
        let line = ProgressLine(columns: Console.size.columns - 2)
        live.draw(
            order.compactMap { downloads[$0] }.map { download in
                guard let note = notes[download.id] else { return "  " + line.text(download) }
                return "  " + line.text(title: download.item.title, fraction: note.fraction, status: note.text)
            },
            isUrgent: isUrgent
        )
    }

    /// Shows a line of another process, without bars.
    func say(_ line: String, process: Int32) {
        say("process \(process): \(line)")
    }

    private static func isShown(_ line: PlainLine) -> Bool {
        if case .progress = line { false } else { true }
    }

    private static func brief(_ line: PlainLine) -> String {
        switch line {
        case .resumed(let bytes, _): "resumed at \(ByteCount.short(bytes))"
        case .progress(let bytes, _): ByteCount.short(bytes)
        case .done: "done"
        case .started, .paused, .cancelled, .failed: line.text
        }
    }
}
