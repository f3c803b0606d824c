import ParityStage

/// Runs scenarios on both transports, a few at once.
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

    private static func compare(_ scenario: Scenario) async throws -> Comparison {
        var stock = try await Child.run(scenario, on: .stock)
        // It crashes by luck, too, wherever a session ends. Only what happens again says something about the scenario.
        for _ in 0..<2 {
            guard case .crashed = stock.ending else { break }
            stock = try await Child.run(scenario, on: .stock)
        }
        let ours = try await Child.run(scenario, on: .ours)
        return Comparison(scenario, stock: stock, ours: ours)
    }
}
