import Foundation

/// A stored response's age and lifetime (RFC 9111 §4.2), in seconds.
struct CacheFreshness: Equatable, Sendable {
    let age: TimeInterval
    let lifetime: TimeInterval
    /// The response's own directives, which also govern its use.
    let directives: CacheDirectives

    /// How long it has been stale; negative while it is fresh.
    var staleness: TimeInterval { age - lifetime }

    /// `head` is the response to a request made at `requested`, and arrived at `received`. Both are nil for a response that the program
    /// stored itself: only its fields tell its age.
    init(_ head: ResponseHead, requested: Date?, received: Date?, now: Date) {
        age = Self.age(head, requested: requested, received: received, now: now)
        directives = CacheDirectives(head.combined("Cache-Control"))
        lifetime = Self.lifetime(head, directives, received: received ?? now)
    }

    /// §4.2.3; infinite if it is unknown.
    static func age(_ head: ResponseHead, requested: Date?, received: Date?, now: Date) -> TimeInterval {
        let date = head["Date"].flatMap(HTTPDate.parse)
        // If the clock has been set back since, it says nothing.
        if let received, now.timeIntervalSince(received) < -60 { return .infinity }
        guard let received = received ?? date else { return .infinity }
        let apparent = date.map { max(0, received.timeIntervalSince($0)) } ?? 0
        let stated = head["Age"].map { CacheDirectives("age=" + $0).seconds("age") ?? 0 } ?? 0
        let delay = requested.map { max(0, received.timeIntervalSince($0)) } ?? 0
        return max(apparent, stated + delay) + max(0, now.timeIntervalSince(received))
    }

    /// §4.2.1.
    private static func lifetime(
        _ head: ResponseHead,
        _ directives: CacheDirectives,
        received: Date
    ) -> TimeInterval {
        if let seconds = directives.seconds("max-age") { return seconds }
        let date = head["Date"].flatMap(HTTPDate.parse) ?? received
        if let expires = head["Expires"] {
            // "0" and other nonsense mean the past (§5.3).
            return HTTPDate.parse(expires).map { $0.timeIntervalSince(date) } ?? 0
        }
        return heuristicLifetime(head, date: date)
    }

    /// §4.2.2: a tenth of the time since the last modification, a week at most.
    private static func heuristicLifetime(_ head: ResponseHead, date: Date) -> TimeInterval {
        guard isHeuristic(head.status), let field = head["Last-Modified"],
            let modified = HTTPDate.parse(field)
        else { return 0 }
        return min(max(0, date.timeIntervalSince(modified) / 10), longestGuess)
    }

    private static let longestGuess: TimeInterval = 7 * 24 * 60 * 60

    /// Whether responses with that status are heuristically cacheable (RFC 9110 §15.1), except 206.
    static func isHeuristic(_ status: Int) -> Bool {
        switch status {
        case 200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501: true
        default: false
        }
    }
}
