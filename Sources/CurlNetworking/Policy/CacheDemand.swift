import Foundation

/// What a request wants of the cache: its policy, and the `Cache-Control` that it sends (RFC 9111 §5.2.1).
struct CacheDemand: Equatable, Sendable {
    enum Reading: Equatable, Sendable {
        /// Nothing stored will do.
        case nothing
        /// What is fresh, and what the server confirms.
        case fresh
        /// What the server confirms.
        case validated
        /// Whatever is there.
        case anything
    }

    var reading: Reading
    /// Without a stored response the request fails.
    var failsWithout = false
    var mayStore = true
    /// The answer is the newest one for its URL: what is stored is of no use any more, whether or not it is stored in turn.
    var supersedes = true
    /// What goes out with the request, so that caches on the way know as well.
    var fields: [HeaderField] = []
    /// In seconds; nil for no bound.
    var maximumAge: TimeInterval?
    var minimumFreshness: TimeInterval = 0
    var maximumStaleness: TimeInterval = 0
    var staleIfError: TimeInterval?
    /// A part is enough: what is stored answers if it is fresh and has it, else the server does.
    var range: CacheRange?

    init(_ request: URLRequest, policy: URLRequest.CachePolicy) {
        switch policy {
        case .useProtocolCachePolicy:
            reading = .fresh
        case .reloadIgnoringLocalCacheData:
            reading = .nothing
        case .reloadIgnoringLocalAndRemoteCacheData:
            reading = .nothing
            if request.value(forHTTPHeaderField: "Cache-Control") == nil { fields = Self.reloadFields }
        case .returnCacheDataElseLoad:
            reading = .anything
        case .returnCacheDataDontLoad:
            reading = .anything
            failsWithout = true
        case .reloadRevalidatingCacheData:
            reading = .validated
            if request.value(forHTTPHeaderField: "Cache-Control") == nil { fields = Self.revalidationFields }
        @unknown default:
            reading = .nothing
        }
        guard Self.isCacheable(request) else {
            reading = .nothing
            mayStore = false
            supersedes = false
            return
        }
        if let headers = request.allHTTPHeaderFields, !headers.isEmpty { apply(request) }
    }

    /// GET without a body, over http or https, and without a password that would lie around in the cache.
    private static func isCacheable(_ request: URLRequest) -> Bool {
        guard request.httpMethod ?? "GET" == "GET", let url = request.url, url.user(percentEncoded: true) == nil else {
            return false
        }
        return request.httpBody == nil
    }

    private mutating func apply(_ request: URLRequest) {
        if let field = request.value(forHTTPHeaderField: "Range") {
            range = CacheRange(field)
            if range == nil { reading = .nothing }
            mayStore = false
            supersedes = false
        }
        // Who sets a condition wants to see the 304.
        if Self.conditions.contains(where: { request.value(forHTTPHeaderField: $0) != nil }) { reading = .nothing }
        let field = request.value(forHTTPHeaderField: "Cache-Control")
        let directives = CacheDirectives(field)
        if directives.contains("no-store") {
            reading = .nothing
            mayStore = false
        }
        if field == nil ? request.value(forHTTPHeaderField: "Pragma") == "no-cache" : directives.contains("no-cache"),
            reading == .fresh
        {
            reading = .validated
        }
        if directives.contains("only-if-cached") { failsWithout = true }
        maximumAge = directives.seconds("max-age")
        minimumFreshness = directives.seconds("min-fresh") ?? 0
        maximumStaleness = directives.isBare("max-stale") ? .infinity : directives.seconds("max-stale") ?? 0
        staleIfError = directives.seconds("stale-if-error")
    }

    /// The second for HTTP/1.0.
    private static let reloadFields = [
        HeaderField(name: "Cache-Control", value: "no-cache"), HeaderField(name: "Pragma", value: "no-cache"),
    ]

    /// Caches on the way ask as well.
    private static let revalidationFields = [HeaderField(name: "Cache-Control", value: "max-age=0")]

    private static let conditions = [
        "If-None-Match", "If-Modified-Since", "If-Match", "If-Unmodified-Since", "If-Range",
    ]
}
