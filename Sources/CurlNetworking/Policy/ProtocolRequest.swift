import Foundation

/// A task's request as protocol classes see it: with the session's additional fields and the stored cookies, much as it would
/// go out. A value.
struct ProtocolRequest {
    /// The task's own.
    let plain: URLRequest
    let complete: URLRequest
    private let added: [String]

    /// `cookies` is the value of the `Cookie` field, as far as it comes from the storage.
    init(_ request: URLRequest, additional: [HeaderField], cookies: String?) {
        var complete = request
        var added: [String] = []
        for field in additional where complete.value(forHTTPHeaderField: field.name) == nil {
            complete.setValue(field.value, forHTTPHeaderField: field.name)
            added.append(field.name)
        }
        if let cookies {
            let own = complete.value(forHTTPHeaderField: "Cookie")
            complete.setValue(own.map { CookieField.merge($0, with: cookies) } ?? cookies, forHTTPHeaderField: "Cookie")
            added.append("Cookie")
        }
        plain = request
        self.complete = complete
        self.added = added
    }

    /// `request`, which a class has made out of the complete one, without what it has merely taken over: the next hop has
    /// additions of its own.
    func withoutAdditions(_ request: URLRequest) -> URLRequest {
        var request = request
        for name in added {
            guard request.value(forHTTPHeaderField: name) == complete.value(forHTTPHeaderField: name) else { continue }
            request.setValue(plain.value(forHTTPHeaderField: name), forHTTPHeaderField: name)
        }
        return request
    }
}
