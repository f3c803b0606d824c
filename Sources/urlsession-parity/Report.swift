import Foundation
import ParityStage

/// The results for a terminal, and for other programs.
struct Report {
    let comparisons: [Comparison]

    /// Verdict and name; behind what is different, in what.
    static func row(_ comparison: Comparison) -> String {
        let verdict = comparison.verdict.rawValue
        var lines = [verdict + String(repeating: " ", count: max(0, 15 - verdict.count)) + comparison.scenario.name]
        if comparison.verdict == .different {
            if let reason = comparison.reason { lines.append("    " + reason) }
            lines += comparison.difference.map { "    " + $0 }
        }
        return lines.joined(separator: "\n")
    }

    /// How many scenarios have which verdict.
    var counts: String {
        Verdict.allCases.compactMap { verdict in
            let count = comparisons.count { $0.verdict == verdict }
            return count == 0 ? nil : "\(count) \(verdict.rawValue)"
        }.joined(separator: ", ")
    }

    var summary: String { "\(comparisons.count) scenarios: \(counts)" }

    /// One object per line.
    var json: String {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            return try comparisons.map { String(decoding: try encoder.encode(Entry($0)), as: UTF8.self) }
                .joined(separator: "\n")
        }
    }

    private struct Entry: Encodable {
        struct Side: Encodable {
            var ending: String
            var events: [Event]

            init(_ run: Run) {
                switch run.ending {
                case .completed: ending = "completed"
                case .crashed(let words): ending = "crashed: \(words)"
                case .hung: ending = "hung"
                }
                events = run.timeline.events
            }
        }

        var scenario: String
        var verdict: Verdict
        var reason: String?
        var promise: String?
        var source: String?
        var stock: Side
        var ours: Side

        init(_ comparison: Comparison) {
            scenario = comparison.scenario.name
            verdict = comparison.verdict
            reason = comparison.reason
            promise = comparison.scenario.promise?.text
            source = comparison.scenario.promise?.source
            stock = Side(comparison.stock)
            ours = Side(comparison.ours)
        }
    }
}

extension Comparison {
    /// The lines in which the timelines differ: "-" the stock module's, "+" ours, and what both say of each lane before
    /// the first of them.
    var difference: [String] {
        let lanes = Set((stock.timeline.events + ours.timeline.events).map(\.lane)).sorted()
        return lanes.flatMap { lane in
            let theirs = stock.timeline.events.filter { $0.lane == lane }
            let own = ours.timeline.events.filter { $0.lane == lane }
            return Self.difference(theirs, own).map { line in
                lanes.count == 1 ? line : "\(line.prefix(1)) \(lane): \(line.dropFirst(2))"
            }
        }
    }

    /// Of two events of one name, one in the other's place, only the details that differ.
    private static func difference(_ stock: [Event], _ ours: [Event]) -> [String] {
        let steps = ours.difference(from: stock) { agree($0, $1) }
        var removed = steps.removals.map(\.event)
        var inserted = steps.insertions.map(\.event)
        for (index, event) in removed.enumerated() {
            guard index < inserted.count, inserted[index].name == event.name else { break }
            let other = inserted[index]
            removed[index].details = event.details.filter { other.details[$0.key] != $0.value }
            inserted[index].details = other.details.filter { event.details[$0.key] != $0.value }
        }
        return removed.map { "- \($0)" } + inserted.map { "+ \($0)" }
    }
}

extension CollectionDifference<Event>.Change {
    fileprivate var event: Event {
        switch self {
        case .insert(_, let event, _), .remove(_, let event, _): event
        }
    }
}
