import Foundation

extension URLRequest.CachePolicy {
    /// Whether the policy has an effect without a cache: it forbids the network, or tells intermediate caches not to answer.
    var countsWithoutCache: Bool {
        switch self {
        case .returnCacheDataDontLoad, .reloadIgnoringLocalAndRemoteCacheData, .reloadRevalidatingCacheData: true
        default: false
        }
    }
}

/// What a request wants from the cache: its policy, and the `Cache-Control` that is sent with it (RFC 9111 §5.2.1).
struct CacheDemand: Equatable, Sendable {
    enum Reading: Equatable, Sendable {
        /// Don't use a stored response.
        case nothing
        /// Use a fresh response, or one that the server confirms.
        case fresh
        /// Use a response that the server confirms.
        case validated
        /// Use any stored response.
        case anything
    }

    var reading: Reading
    /// Whether the request fails without a stored response.
    var failsWithout = false
    var mayStore = true
    /// Whether the response replaces a stored one for its URL, even if it isn't stored itself.
    var supersedes = true
    /// Sent with the request, so that intermediate caches comply, too.
    var fields: [HeaderField] = []
    /// In seconds, as below; nil for no limit.
    var maximumAge: TimeInterval?
    var minimumFreshness: TimeInterval = 0
    var maximumStaleness: TimeInterval = 0
    var staleIfError: TimeInterval?
    /// The requested part: a stored response answers if it is fresh and contains the part, otherwise the server does.
    var range: CacheRange?

    /// - Parameter additional: The session's own fields, of those that `concerns(field:)`; the request's take precedence.
    init(_ request: URLRequest, policy: URLRequest.CachePolicy, additional: [HeaderField] = []) {
        let fields = Fields(request: request, additional: additional)
        switch policy {
        case .useProtocolCachePolicy:
            reading = .fresh
        case .reloadIgnoringLocalCacheData:
            reading = .nothing
        case .reloadIgnoringLocalAndRemoteCacheData:
            reading = .nothing
            if fields["Cache-Control"] == nil { self.fields = Self.reloadFields }
        case .returnCacheDataElseLoad:
            reading = .anything
        case .returnCacheDataDontLoad:
            reading = .anything
            failsWithout = true
        case .reloadRevalidatingCacheData:
            reading = .validated
            if fields["Cache-Control"] == nil { self.fields = Self.revalidationFields }
        @unknown default:
            reading = .nothing
        }
        guard request.httpMethod ?? "GET" == "GET", !request.hasContent else {
            leaveCache()
            return
        }
        if !fields.isEmpty { apply(fields) }
        // The cache would keep the password.
        if request.url?.user(percentEncoded: true) != nil { leaveCache() }
    }

    /// Has the request neither use nor change what is stored.
    private mutating func leaveCache() {
        reading = .nothing
        mayStore = false
        supersedes = false
    }

    /// The fields that are sent with a request.
    private struct Fields {
        let request: URLRequest
        let additional: [HeaderField]

        var isEmpty: Bool { additional.isEmpty && request.allHTTPHeaderFields?.isEmpty ?? true }

        subscript(name: String) -> String? {
            request.value(forHTTPHeaderField: name)
                ?? additional.first { $0.name.isEqualIgnoringASCIICase(to: name) }?.value
        }
    }

    /// Whether the field `name` affects the cache.
    static func concerns(field name: String) -> Bool {
        let names = conditions + ["Range", "Upgrade", "Cache-Control", "Pragma"]
        return names.contains { $0.isEqualIgnoringASCIICase(to: name) }
    }

    private mutating func apply(_ fields: Fields) {
        if let field = fields["Range"] {
            range = CacheRange(field)
            if range == nil { reading = .nothing }
            mayStore = false
            supersedes = false
        }
        // A program that sets a condition expects the 304, and one that asks for another protocol expects the connection.
        if Self.conditions.contains(where: { fields[$0] != nil }) || fields["Upgrade"] != nil { reading = .nothing }
        let field = fields["Cache-Control"]
        let directives = CacheDirectives(field)
        if directives.contains("no-store") {
            reading = .nothing
            mayStore = false
        }
        let reloads = field == nil ? CacheDirectives(fields["Pragma"]) : directives
        if reloads.contains("no-cache"), reading == .fresh { reading = .validated }
        if directives.contains("only-if-cached") { failsWithout = true }
        maximumAge = directives.seconds("max-age")
        minimumFreshness = directives.seconds("min-fresh") ?? 0
        maximumStaleness = directives.isBare("max-stale") ? .infinity : directives.seconds("max-stale") ?? 0
        staleIfError = directives.seconds("stale-if-error")
    }

    /// The second is for HTTP/1.0.
    private static let reloadFields = [
        HeaderField(name: "Cache-Control", value: "no-cache"), HeaderField(name: "Pragma", value: "no-cache"),
    ]

    /// Makes intermediate caches revalidate, too.
    private static let revalidationFields = [HeaderField(name: "Cache-Control", value: "max-age=0")]

    private static let conditions = [
        "If-None-Match", "If-Modified-Since", "If-Match", "If-Unmodified-Since", "If-Range",
    ]
}
