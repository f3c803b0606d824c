import Foundation

/// A response in a cache, with what the caching rules need in addition to the `CachedURLResponse`. The additions are kept in its `userInfo`
/// as strings, which the stock cache's files preserve.
struct StoredResponse: Sendable {
    /// What kind of `URLResponse` it is.
    enum Form: Equatable, Sendable {
        case http
        /// The program stored a response that isn't an `HTTPURLResponse`.
        case other(Other)

        struct Other: Equatable, Sendable {
            var mimeType: String?
            var expectedLength: Int64
            var textEncoding: String?
        }
    }

    /// See `key(of:)`. The stock cache's own key is only host, port and path.
    let key: String
    /// The response's own URL.
    var url: URL
    var form = Form.http
    /// Status and fields.
    var head: ResponseHead
    /// When the request was sent and the head arrived; nil if the program stored the response itself.
    var requested: Date?
    var received: Date?
    /// The request's fields that the response depends on; see `CacheVariant`.
    var variant: [HeaderField]?
    var data: Data
    var storagePolicy: URLCache.StoragePolicy
    /// The program's own, as a property list; empty if there is none.
    var userInfo = Data()
    /// The request that got it, for a program's own `URLCache`; nil for a response from a cache.
    var request: URLRequest?

    private enum InfoKey {
        static let prefix = "CurlNetworking."
        static let url = "CurlNetworking.url"
        static let requested = "CurlNetworking.requested"
        static let received = "CurlNetworking.received"
        static let variant = "CurlNetworking.variant"
    }

    /// Makes it the response to requests with those fields.
    mutating func answer(_ variant: [HeaderField]) {
        self.variant = variant
        if CacheVariant.holdsSecrets(variant) { storagePolicy = .allowedInMemoryOnly }
    }

    /// The key under which a response to a request for `url` is stored: the same for all equivalent URLs.
    static func key(of url: URL) -> String { url.equivalentText }

    func freshness(now: Date) -> CacheFreshness {
        CacheFreshness(head, requested: requested, received: received, now: now)
    }

    /// In seconds; infinite if it is unknown.
    func age(now: Date) -> TimeInterval {
        CacheFreshness.age(head, requested: requested, received: received, now: now)
    }

    /// The response for delegates and handlers.
    var response: URLResponse {
        switch form {
        case .http:
            let response = HTTPURLResponse(
                url: url,
                statusCode: head.status,
                httpVersion: head.version,
                headerFields: head.fields.combined
            )
            return response ?? .unknown(at: url)
        case .other(let form):
            return URLResponse(
                url: url,
                mimeType: form.mimeType,
                expectedContentLength: Int(form.expectedLength),
                textEncodingName: form.textEncoding
            )
        }
    }

    /// The status and fields of `response`, as far as it has them.
    static func head(of response: URLResponse, version: String = "HTTP/1.1") -> ResponseHead {
        (response as? HTTPURLResponse).map { ResponseHead($0, version: version) }
            ?? ResponseHead(version: version, status: 200, fields: [])
    }

    static func form(of response: URLResponse) -> Form {
        if response is HTTPURLResponse { return .http }
        return .other(
            Form.Other(
                mimeType: response.mimeType,
                expectedLength: response.expectedContentLength,
                textEncoding: response.textEncodingName
            )
        )
    }
}

// MARK: - Conversion to and from CachedURLResponse

extension StoredResponse {
    /// From `cached`, stored for `key`. nil if its response has no URL.
    init?(_ cached: CachedURLResponse, key: String) {
        guard let url = cached.response.url else { return nil }
        let info = cached.userInfo ?? [:]
        self.init(
            key: key,
            url: url,
            form: Self.form(of: cached.response),
            head: Self.head(of: cached.response),
            requested: Self.date(info[InfoKey.requested]),
            received: Self.date(info[InfoKey.received]),
            variant: (info[InfoKey.variant] as? String).map(Self.fields),
            data: cached.data,
            storagePolicy: cached.storagePolicy,
            userInfo: UserInfo.encode(info) { $0.hasPrefix(InfoKey.prefix) }
        )
    }

    /// The same from the stock cache. nil if `cached` is for another URL that has the same key there.
    init?(fromStockCache cached: CachedURLResponse, key: String) {
        let storedKey = cached.userInfo?[InfoKey.url] as? String ?? cached.response.url.map(Self.key)
        guard storedKey == key else { return nil }
        self.init(cached, key: key)
    }

    /// As stored in the stock cache, which may find it for another URL.
    var stockCachedResponse: CachedURLResponse { cachedResponse(adding: [InfoKey.url: key]) }

    /// As returned to programs. One that a session has stored has its times and fields in `userInfo`, so that it can be stored again.
    var cachedResponse: CachedURLResponse { cachedResponse(adding: [:]) }

    private func cachedResponse(adding more: [String: String]) -> CachedURLResponse {
        var info: [AnyHashable: Any] = UserInfo.decode(userInfo)
        for (name, value) in more { info[name] = value }
        if let requested { info[InfoKey.requested] = "\(requested.timeIntervalSince1970)" }
        if let received { info[InfoKey.received] = "\(received.timeIntervalSince1970)" }
        if let variant { info[InfoKey.variant] = variant.map { "\($0.name): \($0.value)" }.joined(separator: "\n") }
        return CachedURLResponse(
            response: response,
            data: data,
            userInfo: info.isEmpty ? nil : info,
            storagePolicy: storagePolicy
        )
    }

    private static func date(_ value: Any?) -> Date? {
        (value as? String).flatMap(TimeInterval.init).map(Date.init(timeIntervalSince1970:))
    }

    private static func fields(_ text: String) -> [HeaderField] {
        // By bytes: to Swift, a space and an accent after it are one character.
        text.utf8.split(separator: UInt8(ascii: "\n")).compactMap { line in
            guard let colon = line.firstRange(of: ": ".utf8) else { return nil }
            let (name, value) = (Substring(line[..<colon.lowerBound]), Substring(line[colon.upperBound...]))
            return HeaderField(name: String(name), value: String(value))
        }
    }

    // MARK: - willCacheResponse

    /// The response proposed to the delegate.
    var proposal: CachedURLResponse {
        CachedURLResponse(response: response, data: data, userInfo: nil, storagePolicy: storagePolicy)
    }

    /// With the delegate's changes; nil if it isn't to be stored.
    func replaced(by answer: CachedURLResponse?) -> StoredResponse? {
        guard let answer, answer.storagePolicy != .notAllowed, let url = answer.response.url else { return nil }
        var replaced = self
        replaced.url = url
        replaced.form = Self.form(of: answer.response)
        replaced.head = Self.head(of: answer.response, version: head.version)
        if !answer.data.isSame(as: data) { replaced.data = answer.data.copied }
        // The delegate can't allow files for a response that must not be in one.
        if storagePolicy == .allowed { replaced.storagePolicy = answer.storagePolicy }
        replaced.userInfo = UserInfo.encode(answer.userInfo ?? [:]) { $0.hasPrefix(InfoKey.prefix) }
        return replaced
    }
}

extension Data {
    /// A copy of the bytes. A program's data may have a deallocator, which would run wherever a cache releases the data, even under its
    /// locks.
    var copied: Data { withUnsafeBytes { Data($0) } }

    /// Whether both have the same bytes in memory.
    fileprivate func isSame(as other: Data) -> Bool {
        withUnsafeBytes { bytes in
            other.withUnsafeBytes { $0.baseAddress == bytes.baseAddress && $0.count == bytes.count }
        }
    }
}

/// A program's `userInfo` as a property list. Strings, numbers, dates, data, and arrays and dictionaries of them are preserved; everything
/// else becomes a string. One with more than a thousand arrays and dictionaries, or that is nested too deeply, isn't stored.
enum UserInfo {
    private static let maximumContainers = 1000

    /// Leaves out entries whose name `isOurs`. Empty if nothing is left.
    static func encode(_ info: [AnyHashable: Any], leavingOut isOurs: (String) -> Bool) -> Data {
        guard !UntrustedPropertyList.isTooDeep(info) else { return Data() }
        var list: [String: Any] = [:]
        for (name, value) in info where !isOurs("\(name)") { list["\(name)"] = storable(value) }
        guard !list.isEmpty else { return Data() }
        return UntrustedPropertyList.data(list, containers: maximumContainers) ?? Data()
    }

    static func decode(_ data: Data) -> [String: Any] {
        UntrustedPropertyList.dictionary(data, containers: maximumContainers) ?? [:]
    }

    private static func storable(_ value: Any) -> Any {
        switch value {
        case let value as Bool: value
        case let value as Int: value
        case let value as Double: value
        case let value as String: value
        case let value as Date: value
        case let value as Data: value
        case let list as [Any]: list.map(storable)
        case let dictionary as [String: Any]: dictionary.mapValues(storable)
        default: "\(value)"
        }
    }
}
