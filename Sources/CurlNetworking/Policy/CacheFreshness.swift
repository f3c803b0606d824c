import Foundation

/// How old a stored response is, and how old it may become (RFC 9111 §4.2). In seconds.
struct CacheFreshness: Equatable, Sendable {
    let age: TimeInterval
    let lifetime: TimeInterval

    var isFresh: Bool { lifetime > age }

    /// For how long it has not been fresh any more; negative while it is.
    var staleness: TimeInterval { age - lifetime }

    /// `head` answered a request made at `requested`, and arrived at `received`; nil for what a program has stored itself,
    /// whose age only its own fields can tell.
    init(_ head: ResponseHead, requested: Date?, received: Date?, now: Date) {
        age = Self.age(head, requested: requested, received: received, now: now)
        lifetime = Self.lifetime(head, received: received ?? now)
    }

    /// §4.2.3; infinite where there is nothing to tell it by.
    static func age(_ head: ResponseHead, requested: Date?, received: Date?, now: Date) -> TimeInterval {
        let date = head["Date"].flatMap(HTTPDate.parse)
        guard let received = received ?? date else { return .infinity }
        let apparent = date.map { max(0, received.timeIntervalSince($0)) } ?? 0
        let stated = head["Age"].map { CacheDirectives("age=" + $0).seconds("age") ?? 0 } ?? 0
        let delay = requested.map { max(0, received.timeIntervalSince($0)) } ?? 0
        return max(apparent, stated + delay) + max(0, now.timeIntervalSince(received))
    }

    /// §4.2.1.
    private static func lifetime(_ head: ResponseHead, received: Date) -> TimeInterval {
        let directives = CacheDirectives(head.combined("Cache-Control"))
        if let seconds = directives.seconds("max-age") { return seconds }
        let date = head["Date"].flatMap(HTTPDate.parse) ?? received
        if let expires = head["Expires"] {
            // "0" and other nonsense mean the past (§5.3).
            return HTTPDate.parse(expires).map { $0.timeIntervalSince(date) } ?? 0
        }
        return heuristicLifetime(head, date: date)
    }

    /// §4.2.2: a tenth of the time for which the representation had not changed, a week at most.
    private static func heuristicLifetime(_ head: ResponseHead, date: Date) -> TimeInterval {
        guard heuristicStatuses.contains(head.status), let field = head["Last-Modified"],
            let modified = HTTPDate.parse(field)
        else { return 0 }
        return min(max(0, date.timeIntervalSince(modified) / 10), longestGuess)
    }

    private static let longestGuess: TimeInterval = 7 * 24 * 60 * 60

    /// RFC 9110 §15.1, but for 206.
    static let heuristicStatuses: Set<Int> = [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501]
}

extension ResponseHead {
    /// All fields of that name as one (RFC 9110 §5.3).
    func combined(_ name: String) -> String? {
        let values = fields.lazy.filter { $0.name.isEqualIgnoringASCIICase(to: name) }.map(\.value)
        return values.isEmpty ? nil : values.joined(separator: ", ")
    }
}
