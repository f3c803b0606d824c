import CurlNetworkingParityStage
import Testing

@testable import CurlNetworkingParity

@Suite("The verdict on a scenario")
struct ComparisonTests {
    private static let scenario = Scenario("a scenario") { _ in }
    private static let promising = scenario.promised("it is said", by: "https://example.com") { $0.has("said") }

    /// Judges ours against the stock module; what is below the stock session does as ours.
    private static func compare(_ scenario: Scenario, stock: Run, ours: Run) -> Comparison {
        Comparison(scenario, stock: stock, ours: ours, below: ours)
    }

    private static func run(_ names: String..., ending: Run.Ending = .completed) -> Run {
        Run(ending: ending, timeline: Timeline(names.map { Event($0) }))
    }

    @Test("The same events in the same order are the same")
    func same() {
        #expect(Self.compare(Self.scenario, stock: Self.run("a", "b"), ours: Self.run("a", "b")).verdict == .same)
        #expect(Self.compare(Self.scenario, stock: Self.run("a", "b"), ours: Self.run("b", "a")).verdict == .different)
        #expect(Self.compare(Self.scenario, stock: Self.run("a"), ours: Self.run("a", "a")).verdict == .different)
    }

    @Test("A difference is said to be ours where the stock module does the same each time")
    func steady() {
        func reason(_ stock: Run...) -> String? {
            Comparison(stock.map { Self.compare(Self.scenario, stock: $0, ours: Self.run("a")) }).reason
        }
        #expect(reason(Self.run("b"), Self.run("b"), Self.run("b"))?.hasPrefix("ours ") == true)
        #expect(reason(Self.run("b"), Self.run("c"), Self.run("b")) == nil)
        #expect(reason(Self.run("b"), Self.run("b"), Self.run("a")) == nil)
        #expect(reason(Self.run("b")) == nil)
    }

    @Test("Ours is better only where it keeps a promise that the stock module breaks")
    func better() {
        let said = Self.run("said")
        let silent = Self.run("silent")
        #expect(Self.compare(Self.promising, stock: silent, ours: said).verdict == .oursBetter)
        #expect(Self.compare(Self.scenario, stock: silent, ours: said).verdict == .different)
        #expect(Self.compare(Self.promising, stock: silent, ours: silent).verdict == .different)
        #expect(Self.compare(Self.promising, stock: said, ours: Self.run("said", "more")).verdict == .different)
        #expect(Self.compare(Self.promising, stock: said, ours: said).verdict == .same)
    }

    @Test("A promise that the stock module keeps by luck doesn't count as kept, and ours must keep it always")
    func unsteady() {
        let scenario = Self.promising.stockIsUnsteady()
        let said = Self.run("said")
        for stock in [said, Self.run("silent"), Self.run(ending: .hung), Self.run(ending: .crashed("boom"))] {
            #expect(Self.compare(scenario, stock: stock, ours: said).verdict == .oursBetter)
            #expect(Self.compare(scenario, stock: stock, ours: Self.run("silent")).verdict == .different)
        }
    }

    @Test("The stock module's crash or hang excuses nothing in ours")
    func crashes() {
        let crashed = Self.run(ending: .crashed("boom"))
        let hung = Self.run(ending: .hung)
        #expect(Self.compare(Self.scenario, stock: crashed, ours: Self.run("a")).verdict == .stockCrashes)
        #expect(Self.compare(Self.scenario, stock: hung, ours: Self.run("a")).verdict == .stockHangs)
        #expect(Self.compare(Self.promising, stock: crashed, ours: Self.run("a")).verdict == .different)
        #expect(Self.compare(Self.scenario, stock: crashed, ours: crashed).verdict == .different)
        #expect(Self.compare(Self.scenario, stock: Self.run("a"), ours: hung).verdict == .different)
    }

    @Test("An error may carry more than the stock module's, and not less")
    func errors() {
        func event(_ keys: String) -> Event { Event("handler", ["error": "E 1", "userInfo": keys]) }
        #expect(Comparison.agree(event("a, b"), event("a, b, c")))
        #expect(!Comparison.agree(event("a, b"), event("a, c")))
        #expect(!Comparison.agree(Event("handler", ["error": "E 1"]), Event("handler", ["error": "E 2"])))
    }

    @Test("Order counts within a lane, and between lanes it doesn't")
    func lanes() {
        let first = [Event(lane: "a", "x"), Event(lane: "b", "y")]
        let stock = Run(ending: .completed, timeline: Timeline(first))
        let ours = Run(ending: .completed, timeline: Timeline(first.reversed()))
        #expect(Self.compare(Self.scenario, stock: stock, ours: ours).verdict == .same)
    }

    @Test("A difference is shown with what differs in it")
    func difference() {
        let stock = Run(ending: .completed, timeline: Timeline([Event("handler", ["body": "a", "status": "200"])]))
        let ours = Run(ending: .completed, timeline: Timeline([Event("handler", ["body": "b", "status": "200"])]))
        #expect(
            Self.compare(Self.scenario, stock: stock, ours: ours).difference == [
                "- handler; body=a", "+ handler; body=b",
            ]
        )
    }

    private static func below(
        _ below: Run,
        _ scenario: Scenario = scenario,
        stock: Run = run("stock"),
        ours: Run = run("ours")
    ) -> Below {
        Comparison(scenario, stock: stock, ours: ours, below: below).below
    }

    @Test("With our transport below it, the stock session may come to what ours does or to what it does on its own")
    func below() {
        #expect(Self.below(Self.run("ours")).verdict == .asOurs)
        #expect(Self.below(Self.run("stock")).verdict == .asStock)
        #expect(Self.below(Self.run("same"), stock: Self.run("same"), ours: Self.run("same")).verdict == .asOurs)
        #expect(Self.below(Self.run("own")).verdict == .differs)
        #expect(Self.below(Self.run("own")).isDefect)
    }

    @Test("The stock session on our transport may refuse a download, and nothing else may")
    func refusal() {
        func run(_ code: Int) -> Run {
            Run(ending: .completed, timeline: Timeline([Event("handler", ["error": "NSURLErrorDomain \(code)"])]))
        }
        #expect(Self.below(run(-3000)).verdict == .refused)
        #expect(!Self.below(run(-3000)).isDefect)
        #expect(Self.below(run(-3001)).verdict == .differs)
        #expect(Self.below(run(-3000), ours: run(-3000)).verdict == .asOurs)
        #expect(Self.below(Run(ending: .hung, timeline: run(-3000).timeline)).verdict == .refused)
    }

    @Test("The crashes and hangs of the stock session on our transport need a reason")
    func failuresBelow() {
        for (ending, verdict) in [(Run.Ending.crashed("boom"), Below.Verdict.crashes), (.hung, .hangs)] {
            let failed = Self.run(ending: ending)
            #expect(Self.below(failed).verdict == verdict)
            #expect(Self.below(failed).isDefect)
            #expect(!Self.below(failed, Self.scenario.stockSessionFails("it traps")).isDefect)
        }
    }

    @Test("Luck excuses what a run comes to that ends, but neither a crash nor a hang")
    func luckBelow() {
        let scenario = Self.promising.stockIsUnsteady()
        #expect(Self.below(Self.run("own"), scenario).verdict == .unsteady)
        #expect(!Self.below(Self.run("own"), scenario).isDefect)
        for (ending, verdict) in [(Run.Ending.crashed("boom"), Below.Verdict.crashes), (.hung, .hangs)] {
            #expect(Self.below(Self.run(ending: ending), scenario).verdict == verdict)
            #expect(Self.below(Self.run(ending: ending), scenario).isDefect)
        }
    }

    @Test("Only what the stock session never tells may be missing")
    func limits() {
        func run(_ events: Event...) -> Run { Run(ending: .completed, timeline: Timeline(events)) }
        let error = ["error": "E 1", "body": "nil"]
        let ours = run(Event("handler", error.merging(["status": "200"]) { $1 }))
        let limited = Self.below(run(Event("handler", error)), ours: ours)
        #expect(limited.verdict == .limited)
        #expect(limited.reason == "A handler is given no response beside an error.")
        #expect(Self.below(run(Event("handler", ["error": "E 2", "body": "nil"])), ours: ours).verdict == .differs)
        #expect(Self.below(run(Event("handler", ["body": "nil"])), ours: run(Event("handler"))).verdict == .differs)
        let counted = run(Event("counters", ["received": "9/9"]))
        #expect(Self.below(run(Event("counters", ["received": "0/0"])), ours: counted).verdict == .limited)
        #expect(Self.below(run(Event("counters", ["received": "8/9"])), ours: counted).verdict == .differs)
    }

    @Test("Both sides have the same scenarios, each with a name of its own")
    func scenarios() {
        let names = Side.ours.scenarios.map(\.name)
        #expect(names == Side.stock.scenarios.map(\.name))
        #expect(Set(names).count == names.count)
        #expect(names.count >= 90)
        #expect(names.count { $0.hasPrefix("connection faults") || $0.hasPrefix("malformed answers") } >= 25)
    }

    @Test("The command line is read as it is documented")
    func options() throws {
        let options = try Options(["--filter", "Redirect", "--filter", "301", "--json", "--jobs", "4"])
        #expect(options.output == .json)
        #expect(options.jobs == 4)
        let scenarios = ["redirects: 301 of a GET", "redirects: 302 of a GET"].map { Scenario($0) { _ in } }
        #expect(try options.selection(of: scenarios).map(\.name) == ["redirects: 301 of a GET"])
        #expect(throws: UsageError.self) { try Options(["--filter", "303"]).selection(of: scenarios) }
        for wrong in [["--filter"], ["--jobs", "0"], ["--nonsense"]] {
            #expect(throws: UsageError.self) { try Options(wrong) }
        }
    }
}
