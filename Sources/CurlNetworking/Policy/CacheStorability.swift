import Foundation

/// Whether a response is stored (RFC 9111 §3), by a cache that is private to its program.
enum CacheStorability {
    /// `head` is the complete answer to a request with that demand; `answersChallenge` tells that the request carried what a
    /// server or proxy had asked for.
    static func isStorable(_ head: ResponseHead, for demand: CacheDemand, answersChallenge: Bool = false) -> Bool {
        guard demand.mayStore, head.status >= 200, !passingStatuses.contains(head.status) else { return false }
        let directives = CacheDirectives(head.combined("Cache-Control"))
        guard !directives.contains("no-store"), !CacheVariant.names(of: head).contains("*") else { return false }
        // Later requests don't tell whom they would be from before they are challenged (§3.5).
        guard !answersChallenge || directives.contains("public") else { return false }
        let isExplicit =
            directives.contains("max-age") || directives.contains("public") || directives.contains("private")
            || head["Expires"] != nil
        return isExplicit || CacheFreshness.heuristicStatuses.contains(head.status)
    }

    /// Parts, confirmations, redirects (of which the one that wasn't followed is no answer to others), and challenges.
    private static let passingStatuses: Set<Int> = [206, 301, 302, 303, 304, 307, 308, 401, 407]

    /// Whether `head`, the answer to a request with that demand, leaves what is stored for its URL worthless, stored in turn or not.
    static func supersedes(_ head: ResponseHead, for demand: CacheDemand) -> Bool {
        demand.supersedes && !conditionStatuses.contains(head.status)
    }

    /// What the server says of a condition or range rather than of what it has.
    private static let conditionStatuses: Set<Int> = [206, 304, 412, 416]

    /// A response may take up a twentieth of the cache, as Apple documents it.
    static func sizeLimit(memoryCapacity: Int, diskCapacity: Int) -> Int {
        (diskCapacity > 0 ? diskCapacity : memoryCapacity) / 20
    }

    /// The answer to a request that changes things makes what is stored for its URL worthless (RFC 9111 §4.4).
    static func invalidates(_ method: String?, status: Int) -> Bool {
        switch method ?? "GET" {
        case "GET", "HEAD", "OPTIONS", "TRACE": false
        default: (200..<400).contains(status)
        }
    }

    /// The URLs that `head`, an answer to a change at `url`, speaks of: its own, and others of the same origin.
    static func invalidatedURLs(by head: ResponseHead, at url: URL) -> [URL] {
        let others = ["Location", "Content-Location"].compactMap { head[$0] }
            .compactMap { URL(string: $0, relativeTo: url)?.absoluteURL }
            .filter { Origin($0) == Origin(url) }
        return [url] + others
    }
}

/// Which requests a stored response answers, beyond its URL (RFC 9111 §4.1).
enum CacheVariant {
    /// The names in `Vary`, in lower case.
    static func names(of head: ResponseHead) -> [String] {
        guard let field = head.combined("Vary") else { return [] }
        return CacheDirectives.elements(of: field).map { $0.trimmed.lowercased() }.filter { !$0.isEmpty }
    }

    /// What is remembered of the request: the fields in `Vary`, and always who asked: this cache may serve many users.
    static func fields(of head: ResponseHead, value: (String) -> String?) -> [HeaderField] {
        var names = Set(names(of: head))
        names.insert("authorization")
        return names.sorted().compactMap { name in value(name).map { HeaderField(name: name, value: $0) } }
    }

    /// Whether a request with those values would get the same representation.
    static func matches(_ head: ResponseHead, stored: [HeaderField], value: (String) -> String?) -> Bool {
        fields(of: head, value: value) == stored
    }

    /// These must not lie around in a file.
    static func holdsSecrets(_ fields: [HeaderField]) -> Bool {
        fields.contains("authorization") || fields.contains("cookie") || fields.contains("proxy-authorization")
    }
}
