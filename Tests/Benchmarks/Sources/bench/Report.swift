import Foundation

/// All results of a run, as Markdown for people and JSON for programs.
struct Report {
    struct Row {
        var id: String
        var row: Workload.Row
        var remark: String?
        var results: [Contender: Summary]

        func value(_ contender: Contender) -> Double? {
            results[contender]?.figures?[row.measure]
        }

        func timesRaw(_ contender: Contender) -> Double? {
            results[.raw].flatMap { results[contender]?.times($0, row.measure) }
        }

        /// Nil when ours keeps its limit or has none, otherwise what is wrong.
        var brokenLimit: String? {
            guard let ours = results[.ours], !ours.isSkipped else { return nil }
            guard ours.isSound, let cost = value(.ours) else { return "\(id): \(ours.notes.joined(separator: "; "))" }
            switch row.limit {
            case .timesRaw(let limit):
                guard let ratio = timesRaw(.ours) else { return "\(id): the raw client was not measured" }
                return ratio <= limit ? nil : "\(id): \(Format.ratio(ratio)) of raw, allowed \(Format.ratio(limit))"
            case .absolute(let limit):
                let (actual, allowed) = (Format.value(cost, row.measure), Format.value(limit, row.measure))
                return cost <= limit ? nil : "\(id): \(actual), allowed \(allowed)"
            case nil:
                return nil
            }
        }
    }

    var machine: Machine
    var rows: [Row]

    var brokenLimits: [String] {
        rows.compactMap(\.brokenLimit)
    }

    var markdown: String {
        let notes = rows.flatMap { row in
            (row.remark.map { ["- \(row.id): \($0)"] } ?? [])
                + Contender.allCases.flatMap { contender in
                    (row.results[contender]?.notes ?? []).map { "- \(row.id), \(contender.rawValue): \($0)" }
                }
        }
        return ([costs, timesAndMemory] + [notes.joined(separator: "\n"), machine.description])
            .filter { !$0.isEmpty }
            .joined(separator: "\n\n")
    }

    /// The table that counts: what each contender costs, and the ratios.
    private var costs: String {
        Format.table(
            head: ["case", "measure", "raw", "ours", "stock", "ours ÷ raw", "stock ÷ raw", "allowed"],
            rows: rows.map { row in
                let ratio = row.timesRaw(.ours).map(Format.ratio) ?? "—"
                let allowed =
                    switch row.row.limit {
                    case .timesRaw(let limit): Format.ratio(limit)
                    case .absolute(let limit): Format.value(limit, row.row.measure)
                    case nil: ""
                    }
                let comparable = row.row.measure != .cpuPerSecond
                return [row.row.title, row.row.measure.rawValue]
                    + Contender.allCases.map { contender in
                        row.value(contender).map { Format.value($0, row.row.measure) } ?? verdict(row, contender)
                    } + [
                        !comparable ? "" : row.brokenLimit == nil ? ratio : "**\(ratio)**",
                        comparable ? row.timesRaw(.stock).map(Format.ratio) ?? "—" : "",
                        row.brokenLimit == nil ? allowed : "\(allowed) ✗",
                    ]
            }
        )
    }

    private var timesAndMemory: String {
        let cells: (Row, (Summary.Figures) -> String) -> [String] = { row, format in
            Contender.allCases.map { row.results[$0]?.figures.map(format) ?? verdict(row, $0) }
        }
        return Format.table(
            head: ["case", "wall per request: raw", "ours", "stock", "peak memory: raw", "ours", "stock"],
            rows: rows.filter { $0.row.measure == .cpuPerRequest }.map { row in
                [row.row.title] + cells(row) { Format.time($0.wallPerRequest) }
                    + cells(row) { Format.memory($0.peakMemory) }
            }
        )
    }

    private func verdict(_ row: Row, _ contender: Contender) -> String {
        row.results[contender]?.verdict ?? "—"
    }
}
