import CurlNetworkingParityStage

/// `Tests/Parity/Parity.md`: what the run found, without times and versions.
struct Page {
    let comparisons: [Comparison]

    var text: String {
        ([heading, table] + details).joined(separator: "\n\n")
    }

    private var report: Report { Report(comparisons: comparisons) }

    private var heading: String {
        """
        # Parity

        The same programs on FoundationNetworking and on CurlNetworking, and how they compare.

        ## Overview

        Each scenario is a small program on plain URLSession API, compiled once with either import and run against a server on
        the same machine. What it sees, every delegate call and handler in order with responses, bodies and errors, is compared,
        and so is what the server has seen of it. `make parity` writes this page; `swift run urlsession-parity` prints the same as
        a table. A test fails when the page and a run no longer agree.

        *same*: both did the same, but for more keys in an error's `userInfo`. *ours better*: the stock module breaks a promise of
        Apple's documentation that ours keeps. *stock crashes* and *stock hangs*: ours comes to an end. Nothing may be
        *different* in any other way.

        \(comparisons.count) scenarios: \(report.counts).

        The last column is the stock module's own `URLSession` once more, compiled as for the first run, with `CurlURLProtocol` in
        its `protocolClasses`; see `StockSessions.md` in the documentation. *as ours*: it comes to what this module's session
        does. *as stock*: what makes the difference is the session's, not the transport's. *limited*: as ours, but for what the
        stock session tells nobody. *refused*: a download task, which `CurlURLProtocol` doesn't load. *crashes* and *hangs*: the
        stock session does, whatever is below it. *unsteady*: it does now one thing and now another. The same scenarios:
        \(report.countsBelow).
        """
    }

    private var table: String {
        let rows = comparisons.map {
            "| \(escaped($0.scenario.name)) | \($0.verdict.rawValue) | \($0.below.verdict.rawValue) |"
        }
        return (["| Scenario | Verdict | Stock session on CurlURLProtocol |", "| --- | --- | --- |"] + rows)
            .joined(separator: "\n")
    }

    /// What stands behind each verdict but *same* and *as ours*.
    private var details: [String] {
        let others = comparisons.filter { $0.verdict != .same || $0.below.verdict != .asOurs }
        return others.isEmpty ? [] : ["## What differs"] + others.map(section)
    }

    private func section(_ comparison: Comparison) -> String {
        var parts = ["### \(escaped(comparison.scenario.name))", "*\(comparison.verdict.rawValue)*"]
        if let reason = comparison.reason { parts.append(reason) }
        if let promise = comparison.scenario.promise {
            parts.append("Promised: \(promise.text) <\(promise.source)>")
        }
        let below = comparison.below
        if let reason = below.reason {
            parts.append("The stock session on CurlURLProtocol: *\(below.verdict.rawValue)*. \(reason)")
        }
        let lines = comparison.verdict == .same ? [] : shown(comparison)
        if !lines.isEmpty { parts.append((["```diff"] + lines + ["```"]).joined(separator: "\n")) }
        return parts.joined(separator: "\n\n")
    }

    /// Where the stock module came to no end, or does one thing and then another, only ours says something.
    private func shown(_ comparison: Comparison) -> [String] {
        if comparison.stock.ending == .completed, comparison.scenario.isStockSteady { return comparison.difference }
        return comparison.ours.timeline.lanes.flatMap { lane in
            lane.events.map { "+ \(lane.name): \($0)" }
        }
    }

    private func escaped(_ text: String) -> String {
        text.replacing("|", with: "\\|")
    }
}
