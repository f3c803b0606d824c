import CurlNetworkingParityStage

/// Runs scenarios on every side, a few at once.
struct Runner: Sendable {
    let scenarios: [Scenario]
    let jobs: Int

    /// Returns the results in the scenarios' order; `report` hears of each as it comes.
    func run(report: (Comparison) -> Void = { _ in }) async throws -> [Comparison] {
        try await withThrowingTaskGroup(of: (Int, Comparison).self) { group in
            var results = [Comparison?](repeating: nil, count: scenarios.count)
            for (index, scenario) in scenarios.enumerated() {
                if index >= jobs, let (index, comparison) = try await group.next() {
                    results[index] = comparison
                    report(comparison)
                }
                group.addTask { (index, try await Self.compare(scenario)) }
            }
            for try await (index, comparison) in group {
                results[index] = comparison
                report(comparison)
            }
            return results.compactMap { $0 }
        }
    }

    /// The stock module's session does some things by luck, such as in which order a handler and the delegate hear of the end. A difference
    /// from it counts if it is still there when the session has run anew twice.
    private static func compare(_ scenario: Scenario) async throws -> Comparison {
        let ours = try await Child.run(scenario, on: .ours)
        var comparisons = [try await compare(scenario, with: ours)]
        while let last = comparisons.last, last.isDefect, comparisons.count < 3 {
            comparisons.append(try await compare(scenario, with: ours))
        }
        return Comparison(comparisons)
    }

    private static func compare(_ scenario: Scenario, with ours: Run) async throws -> Comparison {
        let stock = try await runStockSession(scenario, on: .stock)
        let below = try await runStockSession(scenario, on: .below)
        return Comparison(scenario, stock: stock, ours: ours, below: below)
    }

    /// The stock module's session crashes by luck, too, wherever it ends. Only what happens again says something about the scenario.
    private static func runStockSession(_ scenario: Scenario, on side: Side) async throws -> Run {
        var run = try await Child.run(scenario, on: side)
        for _ in 0..<2 {
            guard case .crashed = run.ending else { break }
            run = try await Child.run(scenario, on: side)
        }
        return run
    }
}
