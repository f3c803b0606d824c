import Foundation
import CurlNetworkingParityStage

/// The results for a terminal, and for other programs.
struct Report {
    let comparisons: [Comparison]

    /// Both verdicts and the name; behind what is a defect, in what.
    static func row(_ comparison: Comparison) -> String {
        let below = comparison.below
        var lines = [column(comparison.verdict.rawValue) + column(below.verdict.rawValue) + comparison.scenario.name]
        if comparison.verdict == .different {
            if let reason = comparison.reason { lines.append("    " + reason) }
            lines += comparison.difference.map { "    " + $0 }
        }
        if below.isDefect {
            if case .crashed(let words) = below.run.ending { lines.append("    below: " + words) }
            lines += comparison.differenceBelow.map { "    below: " + $0 }
        }
        return lines.joined(separator: "\n")
    }

    private static func column(_ text: String) -> String {
        text + String(repeating: " ", count: max(0, 15 - text.count))
    }

    /// How many scenarios have which verdict.
    var counts: String {
        Verdict.allCases.compactMap { verdict in
            let count = comparisons.count { $0.verdict == verdict }
            return count == 0 ? nil : "\(count) \(verdict.rawValue)"
        }.joined(separator: ", ")
    }

    /// How many come to what with our transport below the stock session.
    var countsBelow: String {
        Below.Verdict.allCases.compactMap { verdict in
            let count = comparisons.count { $0.below.verdict == verdict }
            return count == 0 ? nil : "\(count) \(verdict.rawValue)"
        }.joined(separator: ", ")
    }

    var summary: String {
        "\(comparisons.count) scenarios: \(counts)\nThe stock session on CurlURLProtocol: \(countsBelow)"
    }

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
        var below: Side
        var belowVerdict: Below.Verdict
        var belowReason: String?

        init(_ comparison: Comparison) {
            scenario = comparison.scenario.name
            verdict = comparison.verdict
            reason = comparison.reason
            promise = comparison.scenario.promise?.text
            source = comparison.scenario.promise?.source
            stock = Side(comparison.stock)
            ours = Side(comparison.ours)
            below = Side(comparison.below.run)
            belowVerdict = comparison.below.verdict
            belowReason = comparison.below.reason
        }
    }
}

extension Comparison {
    /// The lines in which the timelines differ: "-" the stock module's, "+" ours, and what both say of each lane before
    /// the first of them.
    var difference: [String] { Self.difference(stock.timeline, ours.timeline) }

    /// The same for our transport below the stock session: "-" says what is ours alone, "+" what is its own.
    var differenceBelow: [String] { Self.difference(ours.timeline, below.run.timeline) }

    private static func difference(_ stock: Timeline, _ ours: Timeline) -> [String] {
        let lanes = Set((stock.events + ours.events).map(\.lane)).sorted()
        return lanes.flatMap { lane in
            let theirs = stock.events.filter { $0.lane == lane }
            let own = ours.events.filter { $0.lane == lane }
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
