import Foundation

extension Report {
    private struct File: Encodable {
        struct Entry: Encodable {
            struct Contestant: Encodable {
                var figures: Summary.Figures?
                var timesRaw: Double?
                /// The measure's value in each round; null where it could not be taken.
                var rounds: [Double?]
                var notes: [String]
            }

            var name: String
            var title: String
            var measure: Measure
            var allowedTimesRaw: Double?
            var allowed: Double?
            var exceeded: Bool
            var contenders: [String: Contestant]
        }

        var units = "times in microseconds, memory in KiB"
        var machine: Machine
        var cases: [Entry]
    }

    func writeJSON(to url: URL) throws {
        let file = File(machine: machine, cases: rows.map(entry))
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try encoder.encode(file).write(to: url, options: .atomic)
    }

    private func entry(_ row: Row) -> File.Entry {
        var entry = File.Entry(
            name: row.id,
            title: row.row.title,
            measure: row.row.measure,
            exceeded: row.brokenLimit != nil,
            contenders: [:]
        )
        switch row.row.limit {
        case .timesRaw(let limit): entry.allowedTimesRaw = limit
        case .absolute(let limit): entry.allowed = limit
        case nil: break
        }
        for (contender, result) in row.results {
            entry.contenders[contender.rawValue] = .init(
                figures: result.figures,
                timesRaw: row.timesRaw(contender),
                rounds: result.rounds.map { $0?[row.row.measure] },
                notes: result.notes
            )
        }
        return entry
    }
}
