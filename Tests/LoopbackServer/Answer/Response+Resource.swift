import Foundation

extension LoopbackServer.Response {
    /// A body with validators, answered as an origin server should: 206 and 416 to `Range`, with or without `If-Range`,
    /// 304 to `If-None-Match` and `If-Modified-Since` (RFC 9110, sections 13 and 14).
    ///
    /// - Parameters:
    ///   - etag: Put in quotes if it has none; starts with `W/` if it's weak.
    ///   - lastModified: Whole seconds count.
    ///   - acceptRanges: If false, `Range` is ignored and `Accept-Ranges: none` sent.
    package static func resource(
        _ body: LoopbackServer.Body,
        for request: LoopbackServer.Request,
        etag: String? = nil,
        lastModified: Date? = nil,
        acceptRanges: Bool = true,
        contentType: String = "application/octet-stream"
    ) -> Self {
        let validators = Validators(
            etag: etag.map(quoted),
            lastModified: lastModified.map(LoopbackServer.HTTPDate.format)
        )
        let base = Self(headers: validators.fields)
        if validators.isUnmodified(request) {
            return base.changing { $0.set(304) }
        }
        let described = base.header("Accept-Ranges", acceptRanges ? "bytes" : "none")
        let isRangeWanted = acceptRanges && request.method == "GET" && validators.allowRange(request)
        switch ByteRange(isRangeWanted ? request.header("Range") : nil, length: body.length) {
        case .whole:
            return described.header("Content-Type", contentType).changing { $0.body = [.body(body)] }
        case .part(let range):
            let contentRange = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(body.length)"
            return described.headers(["Content-Type": contentType, "Content-Range": contentRange]).changing {
                $0.set(206)
                $0.body = [.body(body[range])]
            }
        case .unsatisfiable:
            return described.header("Content-Range", "bytes */\(body.length)").changing { $0.set(416) }
        }
    }

    private static func quoted(_ etag: String) -> String {
        etag.hasPrefix("\"") || etag.hasPrefix("W/") ? etag : "\"\(etag)\""
    }
}

extension LoopbackServer.Response.Message {
    fileprivate mutating func set(_ status: Int) {
        self.status = status
        reason = statusText(status)
    }
}

/// The two validators of a resource, as on the wire.
private struct Validators {
    let etag: String?
    let lastModified: String?

    var fields: [LoopbackServer.Field] {
        [etag.map { (name: "ETag", value: $0) }, lastModified.map { (name: "Last-Modified", value: $0) }].compactMap {
            $0
        }
    }

    /// Whether the client has the current version. Only `If-None-Match` decides if it's there, by weak comparison.
    func isUnmodified(_ request: LoopbackServer.Request) -> Bool {
        guard request.method == "GET" || request.method == "HEAD" else { return false }
        let tags = request.headers(named: "If-None-Match")
        if !tags.isEmpty {
            let tags = tags.flatMap { $0.split(separator: ",") }.map { $0.trimmingCharacters(in: .whitespaces) }
            return tags.contains("*") || etag.map { etag in tags.contains { opaque($0) == opaque(etag) } } ?? false
        }
        guard let since = request.header("If-Modified-Since").flatMap(LoopbackServer.HTTPDate.parse),
            let modified = lastModified.flatMap(LoopbackServer.HTTPDate.parse)
        else { return false }
        return modified <= since
    }

    private func opaque(_ etag: String) -> Substring { etag.hasPrefix("W/") ? etag.dropFirst(2) : etag[...] }

    /// Whether `If-Range`, if it's there, holds: the same strong entity tag or exactly the same date.
    func allowRange(_ request: LoopbackServer.Request) -> Bool {
        guard let condition = request.header("If-Range") else { return true }
        if condition.hasPrefix("W/") { return false }
        return condition == (condition.hasPrefix("\"") ? etag : lastModified)
    }
}
