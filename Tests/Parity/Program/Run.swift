import CurlNetworkingParityStage

/// What came of a scenario on one transport.
struct Run: Sendable {
    enum Ending: Sendable, Equatable {
        case completed
        case crashed(String)
        case hung
    }

    var ending: Ending
    var timeline: Timeline
}

/// How the two transports compare in one scenario.
enum Verdict: String, Sendable, CaseIterable, Codable {
    case same
    case oursBetter = "ours better"
    /// A defect of ours.
    case different
    case stockCrashes = "stock crashes"
    case stockHangs = "stock hangs"
}

/// A scenario's result on every side.
struct Comparison: Sendable {
    let scenario: Scenario
    let stock: Run
    let ours: Run
    let verdict: Verdict
    /// Why the verdict is `different`. Begins with "ours" where the stock module has no part in it.
    private(set) var reason: String?
    /// The stock session with our transport below it.
    let below: Below

    init(_ scenario: Scenario, stock: Run, ours: Run, below: Run) {
        self.scenario = scenario
        self.stock = stock
        self.ours = ours
        (verdict, reason) = Self.judge(scenario, stock, ours)
        self.below = Below(below, scenario, stock: stock, ours: ours, isSame: verdict == .same)
    }

    /// The last of several with one run of ours. Where the stock module did the same each time, its luck explains no difference.
    init(_ attempts: [Comparison]) {
        self = attempts[attempts.count - 1]
        let isSteady = attempts.allSatisfy { Self.agree($0.stock.timeline, stock.timeline) }
        if attempts.count > 1, isSteady, verdict == .different, reason == nil {
            reason = "ours differs from what the stock module does each time"
        }
    }

    /// Whether something is wrong that neither a promise nor the stock module's session explains.
    var isDefect: Bool { verdict == .different || below.isDefect }

    private static func judge(_ scenario: Scenario, _ stock: Run, _ ours: Run) -> (Verdict, String?) {
        let promise = scenario.promise
        switch ours.ending {
        case .completed: break
        case .crashed(let words): return (.different, "ours crashes: \(words)")
        case .hung: return (.different, "ours hangs")
        }
        if let promise, !promise.isKept(ours.timeline) { return (.different, "ours doesn't keep the promise") }
        // A promise that is kept now and then is none.
        if promise != nil, !scenario.isStockSteady { return (.oursBetter, nil) }
        switch stock.ending {
        case .completed: break
        case .crashed: return (.stockCrashes, nil)
        case .hung: return (.stockHangs, nil)
        }
        if agree(stock.timeline, ours.timeline) { return (.same, nil) }
        guard let promise else { return (.different, nil) }
        if promise.isKept(stock.timeline) { return (.different, "the stock module keeps the promise, too") }
        return (.oursBetter, nil)
    }

    static func agree(_ stock: Timeline, _ ours: Timeline) -> Bool {
        stock.lanes.map(\.name) == ours.lanes.map(\.name)
            && zip(stock.lanes, ours.lanes).allSatisfy { stock, ours in
                stock.events.count == ours.events.count && zip(stock.events, ours.events).allSatisfy(agree)
            }
    }

    /// Whether a program that knows the stock module's event finds the same in ours. An error may carry more than it does.
    static func agree(_ stock: Event, _ ours: Event) -> Bool {
        var expected = stock.details
        if let keys = expected["userInfo"], let own = ours.details["userInfo"],
            Set(own.keys).isSuperset(of: Set(keys.keys).subtracting(ownKeys))
        {
            expected["userInfo"] = own
        }
        if expected["error"] != nil, expected["failing"] == nil { expected["failing"] = ours.details["failing"] }
        return stock.name == ours.name && expected == ours.details
    }

    /// The stock module's underlying error repeats the error it lies under; ours is the system's, where there is one.
    private static let ownKeys: Set = ["NSUnderlyingError"]
}

extension String {
    /// The names in a list.
    fileprivate var keys: [String] { components(separatedBy: ", ").filter { !$0.isEmpty } }
}
