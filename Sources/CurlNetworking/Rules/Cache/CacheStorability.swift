import Foundation

/// Whether a response is stored (RFC 9111 §3), by a cache that is private to its program.
enum CacheStorability {
    /// Whether a complete response with `head`, to a request with that demand, is stored.
    static func isStorable(
        _ head: ResponseHead,
        for demand: CacheDemand,
        audience: CacheAudience = .everyone
    ) -> Bool {
        guard demand.mayStore, head.status >= 200, !isPassing(head.status), !answersCondition(head.status) else {
            return false
        }
        let directives = CacheDirectives(head.combined("Cache-Control"))
        guard permitsStoring(head, directives), audience.permitsStoring(directives) else { return false }
        let isExplicit =
            directives.contains("max-age") || directives.contains("public") || directives.contains("private")
            || head["Expires"] != nil
        return isExplicit || CacheFreshness.isHeuristic(head.status)
    }

    /// Whether neither `head` nor its directives forbid storing to every cache, shared or private.
    static func permitsStoring(_ head: ResponseHead, _ directives: CacheDirectives) -> Bool {
        !directives.contains("no-store") && !CacheVariant.names(of: head).contains("*")
            && (!directives.contains("must-understand") || isUnderstood(head.status))
            // Otherwise it is unknown which fields may be stored.
            && ListField.names(in: head.combined("Connection")) != nil
    }

    /// Whether `must-understand` leaves responses with that status to the other rules (RFC 9111 §5.2.2.3): those of RFC 9110 §15. Another
    /// status may ask something of caches that isn't known here.
    private static func isUnderstood(_ status: Int) -> Bool {
        switch status {
        case 200...206, 300...305, 307, 308, 400...417, 421, 422, 426, 500...505: true
        default: false
        }
    }

    /// Redirects (one that wasn't followed must not answer later requests), challenges, and the errors that RFC 6585 keeps out of every
    /// cache, whatever their fields say: they are about the client, not about what it asked for.
    private static func isPassing(_ status: Int) -> Bool {
        switch status {
        case 301, 302, 303, 307, 308, 401, 407, 428, 429, 431, 511: true
        default: false
        }
    }

    /// Whether a response with `head` to a request with that demand replaces a stored one for its URL, even if it isn't stored itself.
    static func supersedes(_ head: ResponseHead, for demand: CacheDemand) -> Bool {
        demand.supersedes && !answersCondition(head.status)
    }

    /// These answer a condition or range and say nothing about the representation.
    private static func answersCondition(_ status: Int) -> Bool {
        switch status {
        case 206, 304, 412, 416: true
        default: false
        }
    }

    /// A response may be as large as a twentieth of the cache, as Apple documents.
    static func sizeLimit(memoryCapacity: Int, diskCapacity: Int) -> Int {
        (diskCapacity > 0 ? diskCapacity : memoryCapacity) / 20
    }

    /// A successful unsafe request invalidates what is stored for its URL (RFC 9111 §4.4).
    static func invalidates(_ method: String?, status: Int) -> Bool {
        switch method ?? "GET" {
        case "GET", "HEAD", "OPTIONS", "TRACE": false
        default: (200..<400).contains(status)
        }
    }

    /// Whether a response with that status to `request` tells what a GET would get (RFC 9111 §4.3.5).
    static func describesGet(_ request: URLRequest, status: Int) -> Bool {
        request.httpMethod == "HEAD" && status == 200 && !request.hasContent
            && request.value(forHTTPHeaderField: "Range") == nil
    }

    /// The URLs that a response with `head` to an unsafe request for `url` invalidates: `url`, and others named in it on the same origin.
    /// Without user names, which aren't sent as a part of the URL: nothing is stored for URLs with one.
    static func invalidatedURLs(by head: ResponseHead, at url: URL) -> [URL] {
        let others = ["Location", "Content-Location"].compactMap { head[$0] }
            .compactMap { URL(reference: $0, relativeTo: url) }
            .filter { Origin($0) == Origin(url) }
        return ([url] + others).map(\.withoutUserInformation)
    }
}

/// Whose requests a response may answer, as far as that depends on how it arrived.
enum CacheAudience: Sendable {
    case everyone
    /// Everyone's if the response is marked `public`, otherwise none: its server may have identified the user by credentials, or a client
    /// certificate, which later requests don't carry until asked (§3.5).
    case everyoneIfPublic
    /// The answer may not be the server's.
    case nobody

    func permitsStoring(_ directives: CacheDirectives) -> Bool {
        switch self {
        case .everyone: true
        case .everyoneIfPublic: directives.contains("public")
        case .nobody: false
        }
    }
}

/// Which requests for its URL a stored response answers (RFC 9111 §4.1).
enum CacheVariant {
    /// The names in `Vary`, in lower case; `*` for more than can be read.
    static func names(of head: ResponseHead) -> [String] {
        ListField.names(in: head.combined("Vary")) ?? ["*"]
    }

    /// Not a field: whom the session trusts with the request, other than the system's authorities.
    static let trust = ":trust"

    /// The request's fields to store: those named in `Vary`, and always `Authorization`, since a cache may serve many users, `Host`, which
    /// a program sets only to ask a server for a site other than its URL's, and `trust`, since a cache may serve sessions that trust other
    /// authorities.
    static func fields(of head: ResponseHead, value: (String) -> String?) -> [HeaderField] {
        let names = Set(names(of: head)).union(["authorization", "host", trust])
        return names.sorted().compactMap { name in value(name).map { HeaderField(name: name, value: $0) } }
    }

    /// Whether a request with those values is answered by the stored response.
    static func matches(_ head: ResponseHead, stored: [HeaderField], value: (String) -> String?) -> Bool {
        !names(of: head).contains("*") && fields(of: head, value: value) == stored
    }

    /// Whether the fields must not be written to a file.
    static func holdsSecrets(_ fields: [HeaderField]) -> Bool {
        fields.contains("authorization") || fields.contains("cookie") || fields.contains("proxy-authorization")
    }
}
