import CurlNetworkingParityStage

/// What the stock module's session comes to with this module's transport below it (`CurlURLProtocol`).
struct Below: Sendable {
    enum Verdict: String, Sendable, CaseIterable, Codable {
        case asOurs = "as ours"
        case asStock = "as stock"
        /// As ours, but for what the stock module's session keeps to itself.
        case limited
        /// `CurlURLProtocol` loads no download tasks.
        case refused
        case crashes, hangs
        /// The stock module's session does now one thing and now another.
        case unsteady
        /// A defect.
        case differs
    }

    let run: Run
    let verdict: Verdict
    /// What of the stock module's session makes it so; nil where nothing is known.
    let reason: String?

    /// - Parameter isSame: Whether `stock` and `ours` agree, in which case agreeing with either is agreeing with both.
    init(_ run: Run, _ scenario: Scenario, stock: Run, ours: Run, isSame: Bool) {
        self.run = run
        (verdict, reason) = Self.judge(run, scenario, stock, ours, isSame)
    }

    /// Whether it is neither of the two, and nobody knows why.
    var isDefect: Bool {
        switch verdict {
        case .asOurs, .asStock, .limited, .refused, .unsteady: false
        case .crashes, .hangs: reason == nil
        case .differs: true
        }
    }

    private static func judge(
        _ run: Run,
        _ scenario: Scenario,
        _ stock: Run,
        _ ours: Run,
        _ isSame: Bool
    ) -> (Verdict, String?) {
        // A crash or a hang may be ours, also where the stock session's luck decides what a completed run does.
        if !scenario.isStockSteady, run.ending == .completed { return (.unsteady, nil) }
        if case .crashed = run.ending { return (.crashes, scenario.failureBelow) }
        if isRefused(run, ours) { return (.refused, "Protocol classes have no way to hand over a download's file.") }
        if run.ending == .hung { return (.hangs, scenario.failureBelow) }
        if Comparison.agree(ours.timeline, run.timeline) { return (.asOurs, nil) }
        if stock.ending == .completed, Comparison.agree(stock.timeline, run.timeline) {
            return (isSame ? .asOurs : .asStock, nil)
        }
        let (limited, limits) = StockLimit.applied(to: ours.timeline)
        guard Comparison.agree(limited, run.timeline) else { return (.differs, nil) }
        return (.limited, limits.joined(separator: " "))
    }

    /// Whether a task has failed with `cannotCreateFile`, and none of ours. A scenario may wait forever for the bytes of such a download.
    private static func isRefused(_ run: Run, _ ours: Run) -> Bool {
        let isRefusal = { (event: Event) in event.details["error"] == "NSURLErrorDomain -3000" }
        return run.timeline.events.contains(where: isRefusal) && !ours.timeline.events.contains(where: isRefusal)
    }
}
