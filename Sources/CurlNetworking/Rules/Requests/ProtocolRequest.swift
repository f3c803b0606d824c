import Foundation

/// A task's request as passed to protocol classes: with the session's additional fields and stored cookies, much as it would be sent. A
/// value.
struct ProtocolRequest {
    /// The task's own request.
    let plain: URLRequest
    let complete: URLRequest
    private let added: [String]

    /// - Parameter cookies: The value of the `Cookie` field for the stored cookies.
    init(_ request: URLRequest, additional: [HeaderField], cookies: String?) {
        var complete = request
        var added: [String] = []
        for field in additional where complete.value(forHTTPHeaderField: field.name) == nil {
            complete.setValue(field.value, forHTTPHeaderField: field.name)
            added.append(field.name)
        }
        if let cookies {
            let own = complete.value(forHTTPHeaderField: "Cookie")
            let value = CookieField.merge(Substring(own ?? ""), with: cookies)
            complete.setValue(value, forHTTPHeaderField: "Cookie")
            added.append("Cookie")
        }
        plain = request
        self.complete = complete
        self.added = added
    }

    /// `request`, which a class made from the complete one, without the unchanged additions: the next hop gets its own.
    func withoutAdditions(_ request: URLRequest) -> URLRequest {
        var request = request
        for name in added {
            guard request.value(forHTTPHeaderField: name) == complete.value(forHTTPHeaderField: name) else { continue }
            request.setValue(plain.value(forHTTPHeaderField: name), forHTTPHeaderField: name)
        }
        return request
    }
}
