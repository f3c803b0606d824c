import ParityStage
import Testing

@testable import urlsession_parity

@Suite("The verdict on a scenario")
struct ComparisonTests {
    private static let scenario = Scenario("a scenario") { _ in }
    private static let promising = scenario.promised("it is said", by: "https://example.com") { $0.has("said") }

    private static func run(_ names: String..., ending: Run.Ending = .completed) -> Run {
        Run(ending: ending, timeline: Timeline(names.map { Event($0) }))
    }

    @Test("The same events in the same order are the same")
    func same() {
        #expect(Comparison(Self.scenario, stock: Self.run("a", "b"), ours: Self.run("a", "b")).verdict == .same)
        #expect(Comparison(Self.scenario, stock: Self.run("a", "b"), ours: Self.run("b", "a")).verdict == .different)
        #expect(Comparison(Self.scenario, stock: Self.run("a"), ours: Self.run("a", "a")).verdict == .different)
    }

    @Test("Ours is better only where it keeps a promise that the stock module breaks")
    func better() {
        let said = Self.run("said")
        let silent = Self.run("silent")
        #expect(Comparison(Self.promising, stock: silent, ours: said).verdict == .oursBetter)
        #expect(Comparison(Self.scenario, stock: silent, ours: said).verdict == .different)
        #expect(Comparison(Self.promising, stock: silent, ours: silent).verdict == .different)
        #expect(Comparison(Self.promising, stock: said, ours: Self.run("said", "more")).verdict == .different)
        #expect(Comparison(Self.promising, stock: said, ours: said).verdict == .same)
    }

    @Test("A promise that the stock module keeps by luck doesn't count as kept, and ours must keep it always")
    func unsteady() {
        let scenario = Self.promising.stockIsUnsteady()
        let said = Self.run("said")
        for stock in [said, Self.run("silent"), Self.run(ending: .hung), Self.run(ending: .crashed("boom"))] {
            #expect(Comparison(scenario, stock: stock, ours: said).verdict == .oursBetter)
            #expect(Comparison(scenario, stock: stock, ours: Self.run("silent")).verdict == .different)
        }
    }

    @Test("The stock module's crash or hang excuses nothing in ours")
    func crashes() {
        let crashed = Self.run(ending: .crashed("boom"))
        let hung = Self.run(ending: .hung)
        #expect(Comparison(Self.scenario, stock: crashed, ours: Self.run("a")).verdict == .stockCrashes)
        #expect(Comparison(Self.scenario, stock: hung, ours: Self.run("a")).verdict == .stockHangs)
        #expect(Comparison(Self.promising, stock: crashed, ours: Self.run("a")).verdict == .different)
        #expect(Comparison(Self.scenario, stock: crashed, ours: crashed).verdict == .different)
        #expect(Comparison(Self.scenario, stock: Self.run("a"), ours: hung).verdict == .different)
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
        #expect(Comparison(Self.scenario, stock: stock, ours: ours).verdict == .same)
    }

    @Test("What differs is shown with what differs in it")
    func difference() {
        let stock = Run(ending: .completed, timeline: Timeline([Event("handler", ["body": "a", "status": "200"])]))
        let ours = Run(ending: .completed, timeline: Timeline([Event("handler", ["body": "b", "status": "200"])]))
        #expect(
            Comparison(Self.scenario, stock: stock, ours: ours).difference == [
                "- handler; body=a", "+ handler; body=b",
            ]
        )
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
        #expect(options.includes("redirects: 301 of a GET"))
        #expect(!options.includes("redirects: 302 of a GET"))
        for wrong in [["--filter"], ["--jobs", "0"], ["--nonsense"]] {
            #expect(throws: UsageError.self) { try Options(wrong) }
        }
    }
}
