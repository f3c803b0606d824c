import Foundation

/// What becomes of a request for which something is stored (RFC 9111 §4), and of the server's answer to a validation.
enum CacheValidation {
    enum Decision: Equatable, Sendable {
        /// The stored response is the answer.
        case use
        /// It is the answer for now, and the server is asked for the next time (RFC 5861 §3).
        case useAndRevalidate
        /// The server is asked, with these fields, whether it still is.
        case validate([HeaderField])
        /// The server is asked for another.
        case load
        /// Nothing that is stored will do, and the server must not be asked.
        case fail
    }

    static func decision(
        for demand: CacheDemand,
        stored head: ResponseHead?,
        freshness: CacheFreshness?
    ) -> Decision {
        guard let head, let freshness else { return demand.failsWithout ? .fail : .load }
        switch demand.reading {
        case .nothing: return demand.failsWithout ? .fail : .load
        case .anything: return .use
        case .fresh where isUsable(head, freshness, for: demand): return .use
        case .fresh where isUsableMeanwhile(head, freshness, for: demand): return .useAndRevalidate
        case .fresh, .validated:
            if demand.failsWithout { return .fail }
            let fields = conditions(head)
            return fields.isEmpty ? .load : .validate(fields)
        }
    }

    /// §4.2, §5.2.
    private static func isUsable(_ head: ResponseHead, _ freshness: CacheFreshness, for demand: CacheDemand) -> Bool {
        let directives = CacheDirectives(head.combined("Cache-Control"))
        if directives.contains("no-cache") || (head["Cache-Control"] == nil && head["Pragma"] == "no-cache") {
            return false
        }
        if let maximumAge = demand.maximumAge, freshness.age > maximumAge { return false }
        let allowed = directives.contains("must-revalidate") ? 0 : demand.maximumStaleness
        // An unknown age is no age that a bound could allow, but for one without bounds.
        return freshness.staleness + demand.minimumFreshness < allowed
            || (allowed == .infinity && demand.minimumFreshness == 0)
    }

    /// Stale, but for so short a time that the answer need not wait for the server's (RFC 5861 §3).
    private static func isUsableMeanwhile(
        _ head: ResponseHead,
        _ freshness: CacheFreshness,
        for demand: CacheDemand
    ) -> Bool {
        let directives = CacheDirectives(head.combined("Cache-Control"))
        guard !demand.failsWithout, !directives.contains("no-cache"), !directives.contains("must-revalidate"),
            demand.minimumFreshness == 0, demand.maximumAge.map({ freshness.age <= $0 }) ?? true,
            let allowed = directives.seconds("stale-while-revalidate")
        else { return false }
        return freshness.staleness < allowed
    }

    /// RFC 9110 §13.1: the tag as it is, weak or not, and the date besides for servers without tags.
    static func conditions(_ head: ResponseHead) -> [HeaderField] {
        var fields: [HeaderField] = []
        if let tag = head["ETag"] { fields.append(HeaderField(name: "If-None-Match", value: tag)) }
        if let date = head["Last-Modified"] { fields.append(HeaderField(name: "If-Modified-Since", value: date)) }
        return fields
    }

    /// The stored response may stand in for a server in trouble (RFC 5861 §4).
    static func standsInForError(_ head: ResponseHead, _ freshness: CacheFreshness, for demand: CacheDemand) -> Bool {
        let directives = CacheDirectives(head.combined("Cache-Control"))
        guard !directives.contains("must-revalidate"), !directives.contains("no-cache"),
            let allowed = demand.staleIfError ?? directives.seconds("stale-if-error")
        else { return false }
        return freshness.staleness <= allowed
    }

    /// Those that a server in trouble answers with.
    static let errorStatuses: Set<Int> = [500, 502, 503, 504]
}
