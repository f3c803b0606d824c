import Foundation

/// Shows downloads as progress bars. Finished ones move up and out of the way.
struct TerminalReporter: DownloadReporter {
    private var live = LiveLines()
    private var order: [URL] = []
    private var downloads: [URL: Download] = [:]
    private var notes: [URL: String] = [:]

    mutating func note(_ download: Download) {
        notes[download.id] = nil
        show(download)
    }

    mutating func note(_ download: Download, retryingIn delay: Duration) {
        if case .failed(let failure) = download.state {
            notes[download.id] = "\(failure.message); again in \(delay.components.seconds) s"
        }
        show(download)
    }

    mutating func finish(_ summary: [String]) {
        live.writeAbove(order.compactMap { downloads[$0] }.map(line) + summary.map(\.printable))
        order = []
    }

    private mutating func show(_ download: Download) {
        let id = download.id
        if downloads.updateValue(download, forKey: id) == nil { order.append(id) }
        if isOver(download) {
            live.writeAbove([line(download)])
            order.removeAll { $0 == id }
        }
        live.draw(lines, isUrgent: isOver(download))
    }

    private func isOver(_ download: Download) -> Bool {
        !download.isBusy && notes[download.id] == nil
    }

    /// The running downloads, and how many are waiting for a place.
    private var lines: [String] {
        let unfinished = order.compactMap { downloads[$0] }
        let active = unfinished.filter { if case .waiting = $0.state { false } else { true } }
        let waiting = unfinished.count - active.count
        return active.map(line) + (waiting > 0 ? ["\(waiting) waiting"] : [])
    }

    private func line(_ download: Download) -> String {
        ProgressLine(columns: Console.size.columns).text(download, note: notes[download.id])
    }
}
