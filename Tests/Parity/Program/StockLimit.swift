import CurlNetworkingParityStage

/// What the stock module's session keeps from its delegates and handlers, whatever transport is below it: with `CurlURLProtocol` a
/// scenario comes to what it does with ours, but for this.
struct StockLimit: Sendable {
    /// What it does or doesn't do, a sentence.
    let text: String
    /// What becomes of ours; nil where nothing is left of it.
    private let apply: @Sendable (Event) -> Event?

    /// What `timeline` is with all limits that concern it, and which those are.
    static func applied(to timeline: Timeline) -> (timeline: Timeline, texts: [String]) {
        var events = timeline.events
        var texts: [String] = []
        for limit in all {
            let limited = events.compactMap(limit.apply)
            guard limited != events else { continue }
            texts.append(limit.text)
            events = limited
        }
        return (Timeline(events), texts)
    }

    private static let all = [
        StockLimit(text: "A handler is given no response beside an error.") { event in
            guard event.name == "handler", event.details["error"] != nil else { return event }
            var event = event
            event.details = event.details.filter { ["error", "userInfo", "failing", "body", "file"].contains($0.key) }
            return event
        },
        StockLimit(text: "Delegates have no method for informational responses.") { event in
            event.name == "didReceive informational" ? nil : event
        },
        StockLimit(text: "Nothing is counted of what a protocol class loads.") { event in
            guard event.name == "counters" else { return event }
            var event = event
            event.details = event.details.mapValues { _ in "0/0" }
            return event
        },
        StockLimit(text: "A task isn't told its error, nor the request that a redirect has led to.") { event in
            guard event.name == "task" else { return event }
            var event = event
            for key in ["error", "userInfo", "failing"] { event.details[key] = nil }
            if let original = event.details["original"] { event.details["current"] = original }
            return event
        },
    ]
}
