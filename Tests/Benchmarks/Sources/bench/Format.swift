import Foundation

/// Numbers and tables as people read them.
enum Format {
    static func value(_ value: Double, _ measure: Measure) -> String {
        switch measure {
        case .cpuPerRequest, .cpuOfBothSides, .cpuPerSecond, .latency: time(value)
        case .memoryPerTransfer: memory(value)
        }
    }

    static func time(_ microseconds: Double) -> String {
        switch microseconds {
        case ..<999.5: "\(digits(microseconds)) µs"
        case ..<999_500: "\(digits(microseconds / 1000)) ms"
        default: "\(digits(microseconds / 1_000_000)) s"
        }
    }

    static func memory(_ kib: Double) -> String {
        kib < 1023.5 ? "\(digits(kib)) KiB" : "\(digits(kib / 1024)) MiB"
    }

    static func ratio(_ value: Double) -> String {
        String(format: value < 10 ? "%.2f ×" : "%.1f ×", value)
    }

    /// Three significant digits, as far as they come before or just after the point.
    private static func digits(_ value: Double) -> String {
        String(format: value < 9.995 ? "%.2f" : value < 99.95 ? "%.1f" : "%.0f", value)
    }

    /// A Markdown table whose columns line up in a terminal too; all but the first column are numbers.
    static func table(head: [String], rows: [[String]]) -> String {
        let widths = head.indices.map { column in
            ([head] + rows).map { $0[column].count }.max() ?? 0
        }
        func line(_ cells: [String]) -> String {
            let padded = zip(cells, widths).enumerated().map { column, cell in
                let space = String(repeating: " ", count: cell.1 - cell.0.count)
                return column == 0 ? cell.0 + space : space + cell.0
            }
            return "| " + padded.joined(separator: " | ") + " |"
        }
        let rule = widths.enumerated().map { column, width in
            column == 0 ? String(repeating: "-", count: width) : String(repeating: "-", count: width - 1) + ":"
        }
        return ([line(head), "| " + rule.joined(separator: " | ") + " |"] + rows.map(line)).joined(separator: "\n")
    }
}
