import Foundation

/// Which header fields a request sends (RFC 9110 §5).
enum HeaderRules {
    /// Fields that the transport writes itself: another value could contradict the message.
    private static let transportFields = ["Content-Length", "Transfer-Encoding"]

    /// The caller's fields, then those of the session that the caller didn't set, always in the same order.
    static func fields(
        of request: URLRequest,
        additional: [HeaderField]
    ) throws(URLError) -> [HeaderField] {
        var fields = (request.allHTTPHeaderFields ?? [:]).map { HeaderField(name: $0.key, value: $0.value) }
        if fields.count > 1 { fields.sort { $0.name < $1.name } }
        fields.appendMissing(additional)
        for field in fields { try check(field, of: request.url) }
        fields.removeAll { field in
            RequestProperties.isField(field.name)
                || transportFields.contains { $0.isEqualIgnoringASCIICase(to: field.name) }
        }
        return fields
    }

    /// The fields of `httpAdditionalHeaders`, whose values may be of any type, always in the same order. An Optional counts as its content;
    /// an empty one, like NSNull, makes no field. Of names that differ only in case, the first in ASCII order counts.
    static func additional(_ dictionary: [AnyHashable: Any]) -> [HeaderField] {
        let all = dictionary.compactMap { name, value in
            text(of: value).map { HeaderField(name: "\(name)", value: $0) }
        }
        return withoutDoubles(all)
    }

    /// The request with each field once: the stock type takes several names that differ only in case, and then finds, replaces and removes
    /// one of them, a different one in each process. The first in ASCII order counts. A request without a URL stays as it is: its task
    /// fails, and Foundation traps on a change.
    static func withoutDoubles(_ request: URLRequest) -> URLRequest {
        guard let fields = request.allHTTPHeaderFields, fields.count > 1, hasDoubles(fields.keys), request.url != nil
        else { return request }
        var request = request
        let once = withoutDoubles(fields.map { HeaderField(name: $0.key, value: $0.value) })
        request.allHTTPHeaderFields = Dictionary(uniqueKeysWithValues: once.map { ($0.name, $0.value) })
        return request
    }

    private static func hasDoubles(_ names: [String: String].Keys) -> Bool {
        // Comparing is several times faster than folding, where there are few.
        if names.count > 16 { return Set(names.map { $0.lowercased() }).count < names.count }
        return names.indices.contains { index in
            names[..<index].contains { $0.isEqualIgnoringASCIICase(to: names[index]) }
        }
    }

    /// Of names that differ only in case, the first in ASCII order.
    private static func withoutDoubles(_ fields: [HeaderField]) -> [HeaderField] {
        var once: [HeaderField] = []
        once.appendMissing(fields.sorted { $0.name < $1.name })
        return once
    }

    private static func text(of value: Any) -> String? {
        if let text = value as? String { return text }
        let mirror = Mirror(reflecting: value)
        guard mirror.displayStyle != .optional else { return mirror.children.first.flatMap { text(of: $0.value) } }
        return value is NSNull ? nil : "\(value)"
    }

    /// Checks that the name is a token and the value doesn't end its line: otherwise it could add fields, or another request.
    private static func check(_ field: HeaderField, of url: URL?) throws(URLError) {
        guard FieldSyntax.isToken(field.name) else {
            throw URLError(.badURL, url: url, "The header name \(field.name.debugDescription) is not valid.")
        }
        guard isValue(field.value) else {
            // The value may be a password or token, so it isn't quoted.
            throw URLError(.badURL, url: url, "The value of the header \(field.name) contains a line break or NUL.")
        }
    }

    /// Whether the text doesn't end its line (RFC 9110 §5.5).
    static func isValue(_ text: String) -> Bool {
        !text.utf8.contains { $0 == 0 || $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\n") }
    }
}

extension [HeaderField] {
    func contains(_ name: String) -> Bool {
        contains { $0.name.isEqualIgnoringASCIICase(to: name) }
    }

    /// Whether the connection isn't to be used after this message (RFC 9112 §9.6).
    var closesConnection: Bool {
        contains { field in
            field.name.isEqualIgnoringASCIICase(to: "Connection")
                && ListField.names(in: field.value)?.contains("close") ?? false
        }
    }

    /// Appends each of `others` whose name isn't there yet.
    fileprivate mutating func appendMissing(_ others: [HeaderField]) {
        // Comparing is several times faster than folding, where there are few.
        guard count + others.count > 16 else {
            for field in others where !contains(field.name) { append(field) }
            return
        }
        var names = Set(map { $0.name.lowercased() })
        for field in others where names.insert(field.name.lowercased()).inserted { append(field) }
    }
}
