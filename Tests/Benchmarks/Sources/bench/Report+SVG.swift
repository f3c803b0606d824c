import Foundation

extension Report {
    /// What this module and the stock one cost beside the raw client, as bars on a logarithmic scale. Cases that weren't measured are left
    /// out.
    var chart: String {
        let rows = rows.filter { $0.row.measure == .cpuPerRequest && $0.timesRaw(.ours) != nil }
        return Chart(rows: rows, caption: machine.summary).svg
    }

    func writeChart(to url: URL) throws {
        try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(chart.utf8).write(to: url, options: .atomic)
    }
}

/// A picture in SVG 1.1 with no fonts or colours of the reader's own, so that it looks the same everywhere.
private struct Chart {
    let rows: [Report.Row]
    let caption: String

    // In pixels.
    private let width = 960
    private let labels = 430
    private let rowHeight = 34
    private let top = 64
    private let bottom = 44

    private var height: Int { top + rows.count * rowHeight + bottom }
    private var plotWidth: Double { Double(width - labels - 70) }

    /// The scale goes from half of what the raw client costs to a power of two above the dearest bar.
    private let least = 0.5
    private var most: Double {
        let dearest = rows.flatMap { [$0.timesRaw(.ours), $0.timesRaw(.stock)] }.compactMap(\.self).max() ?? 1
        return exp2(max(ceil(log2(dearest)), 1))
    }

    private func x(_ ratio: Double) -> Double {
        let share = log2(max(ratio, least) / least) / log2(most / least)
        return Double(labels) + share * plotWidth
    }

    var svg: String {
        let lines = ticks + rows.enumerated().flatMap { bars(of: $1, at: top + $0 * rowHeight) }
        return """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(width) \(height)" font-family="sans-serif" font-size="13">
            <rect width="\(width)" height="\(height)" fill="#ffffff"/>
            <text x="16" y="24" font-size="16" font-weight="bold">CPU time beside raw libcurl in C</text>
            \(key)
            \(lines.joined(separator: "\n"))
            <text x="16" y="\(height - 14)" font-size="11" fill="#555555">\(escaped(caption))</text>
            </svg>

            """
    }

    private var key: String {
        """
        <rect x="16" y="36" width="12" height="12" fill="\(Self.colour(.ours))"/><text x="34" y="47">CurlNetworking</text>
        <rect x="160" y="36" width="12" height="12" fill="\(Self.colour(.stock))"/><text x="178" y="47">FoundationNetworking</text>
        """
    }

    /// A line for each power of two; that of the raw client is dark.
    private var ticks: [String] {
        stride(from: log2(least), through: log2(most), by: 1).map { power in
            let ratio = exp2(power)
            let (x, colour) = (number(x(ratio)), ratio == 1 ? "#333333" : "#dddddd")
            let text = ratio < 1 ? "½ ×" : "\(Int(ratio)) ×"
            return """
                <line x1="\(x)" y1="\(top - 4)" x2="\(x)" y2="\(height - bottom + 4)" stroke="\(colour)"/>\
                <text x="\(x)" y="\(top - 8)" text-anchor="middle" fill="#555555" font-size="11">\(text)</text>
                """
        }
    }

    private func bars(of row: Report.Row, at y: Int) -> [String] {
        let title = escaped(row.row.title.replacingOccurrences(of: "`", with: ""))
        let label = #"<text x="\#(labels - 10)" y="\#(y + 19)" text-anchor="end">\#(title)</text>"#
        let contenders: [Contender] = [.ours, .stock]
        return [label]
            + contenders.enumerated().compactMap { index, contender in
                guard let ratio = row.timesRaw(contender) else { return nil }
                let (start, end, y) = (x(least), x(ratio), y + 4 + index * 13)
                return """
                    <rect x="\(number(start))" y="\(y)" width="\(number(end - start))" height="11" fill="\(Self.colour(contender))"/>\
                    <text x="\(number(end + 4))" y="\(y + 10)" font-size="11">\(Format.ratio(ratio))</text>
                    """
            }
    }

    private static func colour(_ contender: Contender) -> String {
        contender == .stock ? "#c9b37e" : "#2f6f9f"
    }

    private func number(_ value: Double) -> String {
        String(format: "%.1f", value)
    }

    private func escaped(_ text: String) -> String {
        text.replacingOccurrences(of: "&", with: "&amp;").replacingOccurrences(of: "<", with: "&lt;")
    }
}
