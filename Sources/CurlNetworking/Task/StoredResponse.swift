import Foundation

/// A response in a cache, with what the rules need to know of it beyond the `CachedURLResponse`: that goes into its
/// `userInfo`, as texts, which the stock cache's files keep.
struct StoredResponse: Sendable {
    /// The URL it answers, without a fragment. The stock cache's own key is host, port and path alone.
    let key: String
    /// Status and fields.
    var head: ResponseHead
    /// When the request was sent and the head arrived; nil for what a program has stored itself.
    var requested: Date?
    var received: Date?
    /// The request's fields that made a difference; see `CacheVariant`.
    var variant: [HeaderField]?
    var response: URLResponse
    var data: Data
    var storagePolicy: URLCache.StoragePolicy
    /// A program's own, from `willCacheResponse`.
    var userInfo: [String: String] = [:]

    private enum InfoKey {
        static let url = "CurlNetworking.url"
        static let requested = "CurlNetworking.requested"
        static let received = "CurlNetworking.received"
        static let variant = "CurlNetworking.variant"
    }

    static func key(of url: URL) -> String {
        let text = url.absoluteString
        guard let hash = text.utf8.firstIndex(of: UInt8(ascii: "#")) else { return text }
        return String(text[..<hash])
    }

    func freshness(now: Date) -> CacheFreshness {
        CacheFreshness(head, requested: requested, received: received, now: now)
    }

    /// The status and fields of `response`, as far as they can be told from it.
    static func head(of response: URLResponse) -> ResponseHead {
        guard let response = response as? HTTPURLResponse else {
            return ResponseHead(version: "HTTP/1.1", status: 200, fields: [])
        }
        let fields = response.allHeaderFields.map { HeaderField(name: "\($0.key)", value: "\($0.value)") }
        return ResponseHead(version: "HTTP/1.1", status: response.statusCode, fields: fields)
    }
}

// MARK: - To and from the stock cache

extension StoredResponse {
    /// nil where `cached` answers another URL that shares the stock cache's key.
    init?(_ cached: CachedURLResponse, key: String) {
        let info = cached.userInfo ?? [:]
        let storedKey = info[InfoKey.url] as? String ?? cached.response.url.map(Self.key)
        guard storedKey == nil || storedKey == key else { return nil }
        self.key = key
        head = Self.head(of: cached.response)
        requested = Self.date(info[InfoKey.requested])
        received = Self.date(info[InfoKey.received])
        variant = (info[InfoKey.variant] as? String).map(Self.fields)
        response = cached.response
        data = cached.data
        storagePolicy = cached.storagePolicy
    }

    /// What the stock cache keeps.
    var cachedResponse: CachedURLResponse {
        var info: [AnyHashable: Any] = userInfo
        info[InfoKey.url] = key
        if let requested { info[InfoKey.requested] = "\(requested.timeIntervalSince1970)" }
        if let received { info[InfoKey.received] = "\(received.timeIntervalSince1970)" }
        if let variant { info[InfoKey.variant] = variant.map { "\($0.name): \($0.value)" }.joined(separator: "\n") }
        return CachedURLResponse(response: response, data: data, userInfo: info, storagePolicy: storagePolicy)
    }

    private static func date(_ value: Any?) -> Date? {
        (value as? String).flatMap(TimeInterval.init).map(Date.init(timeIntervalSince1970:))
    }

    private static func fields(_ text: String) -> [HeaderField] {
        text.split(separator: "\n").compactMap { line in
            guard let colon = line.range(of: ": ") else { return nil }
            return HeaderField(name: String(line[..<colon.lowerBound]), value: String(line[colon.upperBound...]))
        }
    }

    // MARK: - willCacheResponse

    /// What a delegate is shown.
    var proposal: CachedURLResponse {
        CachedURLResponse(response: response, data: data, userInfo: nil, storagePolicy: storagePolicy)
    }

    /// With what the delegate made of the proposal; nil where it is not to be stored.
    func replaced(by answer: CachedURLResponse?) -> StoredResponse? {
        guard let answer, answer.storagePolicy != .notAllowed else { return nil }
        var replaced = self
        replaced.response = answer.response
        replaced.head = Self.head(of: answer.response)
        replaced.data = answer.data
        // What was kept out of files stays out of them.
        if storagePolicy == .allowed { replaced.storagePolicy = answer.storagePolicy }
        for (name, value) in answer.userInfo ?? [:] { replaced.userInfo["\(name)"] = "\(value)" }
        return replaced
    }
}
