/// One small program on URLSession, and what is to be said about it.
package struct Scenario: Sendable {
    /// The topic's title and the scenario's own: "uploads: an empty file".
    package fileprivate(set) var name: String
    /// What Apple's documentation promises, where the stock module is known not to keep it.
    package private(set) var promise: Promise?
    /// How long either transport may take before it counts as hanging.
    package private(set) var limit = Duration.seconds(30)
    /// How long the stock module may take, where it is known to hang: waiting longer would teach nothing.
    package private(set) var stockLimit: Duration?
    /// False where the stock module does now one thing and now another: what it did this time is then neither judged nor
    /// shown.
    package private(set) var isStockSteady = true
    /// Why the stock module's session crashes or hangs whatever is below it.
    package private(set) var failureBelow: String?
    /// How long it may take with our transport below it, where it is known to hang.
    package private(set) var belowLimit: Duration?
    package let run: @Sendable (Stage) async throws -> Void

    package init(_ name: String, _ run: @escaping @Sendable (Stage) async throws -> Void) {
        self.name = name
        self.run = run
    }

    /// - Parameters:
    ///   - text: What is promised, in one sentence.
    ///   - source: The page that promises it.
    ///   - isKept: Whether a timeline keeps the promise. Ours must. The stock module's must not, where the two differ: a
    ///     promise that both keep excuses no difference.
    package func promised(
        _ text: String,
        by source: String,
        _ isKept: @escaping @Sendable (Timeline) -> Bool
    ) -> Scenario {
        var scenario = self
        scenario.promise = Promise(text: text, source: source, isKept: isKept)
        return scenario
    }

    /// Waits for the stock module this long at most.
    package func stockHangs(after limit: Duration = .seconds(3)) -> Scenario {
        var scenario = self
        scenario.stockLimit = limit
        return scenario
    }

    /// The stock module's session crashes or hangs with our transport below it, too: it is the session that does.
    package func stockSessionFails(_ reason: String) -> Scenario {
        var scenario = self
        scenario.failureBelow = reason
        scenario.belowLimit = stockLimit
        return scenario
    }

    /// The stock module's result depends on luck: whether it keeps the promise this time says nothing.
    package func stockIsUnsteady() -> Scenario {
        var scenario = self
        scenario.isStockSteady = false
        return scenario
    }
}

package struct Promise: Sendable {
    package let text: String
    package let source: String
    package let isKept: @Sendable (Timeline) -> Bool
}

/// Scenarios about one subject.
package struct Topic: Sendable {
    package let title: String
    package let scenarios: [Scenario]

    package init(_ title: String, @ScenarioBuilder _ scenarios: () -> [Scenario]) {
        self.title = title
        self.scenarios = scenarios().map { scenario in
            var scenario = scenario
            scenario.name = "\(title): \(scenario.name)"
            return scenario
        }
    }
}

/// One scenario behind the other, or many from a loop.
@resultBuilder
package enum ScenarioBuilder {
    package static func buildExpression(_ scenario: Scenario) -> [Scenario] { [scenario] }
    package static func buildBlock(_ parts: [Scenario]...) -> [Scenario] { parts.flatMap { $0 } }
    package static func buildArray(_ parts: [[Scenario]]) -> [Scenario] { parts.flatMap { $0 } }
}
