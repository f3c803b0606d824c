import Foundation

/// How a stored response is used for a request (RFC 9111 §4).
enum CacheValidation {
    enum Decision: Equatable, Sendable {
        /// Use the stored response.
        case use
        /// Use it, and revalidate it in the background (RFC 5861 §3).
        case useAndRevalidate
        /// Ask the server, with these fields, whether it is still current.
        case validate([HeaderField])
        /// Load the response from the server.
        case load
        /// Fail: no stored response can be used, and the server must not be asked.
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
        case .fresh where isUsableMeanwhile(freshness, for: demand): return .useAndRevalidate
        case .fresh, .validated:
            if demand.failsWithout { return .fail }
            let fields = conditions(head)
            return fields.isEmpty ? .load : .validate(fields)
        }
    }

    /// §4.2, §5.2.
    private static func isUsable(_ head: ResponseHead, _ freshness: CacheFreshness, for demand: CacheDemand) -> Bool {
        let directives = freshness.directives
        if directives.forbidUseUnasked { return false }
        if head["Cache-Control"] == nil, CacheDirectives(head.combined("Pragma")).contains("no-cache") { return false }
        if let maximumAge = demand.maximumAge, freshness.age > maximumAge { return false }
        let allowed = directives.contains("must-revalidate") ? 0 : demand.maximumStaleness
        // An unknown age is infinite: it is allowed only if there is no limit at all.
        return freshness.staleness + demand.minimumFreshness < allowed
            || (allowed == .infinity && demand.minimumFreshness == 0)
    }

    /// Whether the response may be used while it is being revalidated (RFC 5861 §3).
    private static func isUsableMeanwhile(_ freshness: CacheFreshness, for demand: CacheDemand) -> Bool {
        let directives = freshness.directives
        guard !demand.failsWithout, !directives.forbidUseUnasked, !directives.contains("must-revalidate"),
            demand.minimumFreshness == 0, demand.maximumAge.map({ freshness.age <= $0 }) ?? true,
            let allowed = directives.seconds("stale-while-revalidate")
        else { return false }
        return freshness.staleness < allowed
    }

    /// RFC 9110 §13.1: the tag, weak or strong, and the date for servers that ignore tags.
    static func conditions(_ head: ResponseHead) -> [HeaderField] {
        var fields: [HeaderField] = []
        if let tag = head["ETag"] { fields.append(HeaderField(name: "If-None-Match", value: tag)) }
        if let date = head["Last-Modified"] { fields.append(HeaderField(name: "If-Modified-Since", value: date)) }
        // A program may have stored anything.
        return fields.filter { HeaderRules.isValue($0.value) }
    }

    /// Whether the stored response may be used instead of a server error (RFC 5861 §4): not if it is one itself. A request that wants only
    /// what the server confirms must allow it itself.
    static func standsInForError(_ head: ResponseHead, _ freshness: CacheFreshness, for demand: CacheDemand) -> Bool {
        let directives = freshness.directives
        let offered = demand.reading == .validated ? nil : directives.seconds("stale-if-error")
        guard !errorStatuses.contains(head.status), !directives.contains("must-revalidate"),
            !directives.forbidUseUnasked, let allowed = demand.staleIfError ?? offered
        else { return false }
        return freshness.staleness <= allowed
    }

    /// Whether a request failed without a response because its server is unreachable (RFC 5861 §4). Any other failure, such as an untrusted
    /// certificate, must reach the program.
    static func isUnreachable(after code: URLError.Code) -> Bool {
        switch code {
        case .cannotFindHost, .dnsLookupFailed, .cannotConnectToHost, .notConnectedToInternet, .timedOut,
            .networkConnectionLost:
            true
        default: false
        }
    }

    /// The statuses that count as server errors.
    static let errorStatuses: Set<Int> = [500, 502, 503, 504]

    /// Whether a response with that status leaves open what a working server, or a less busy one, would have answered.
    static func isInconclusive(_ status: Int) -> Bool { status == 429 || status >= 500 }
}
