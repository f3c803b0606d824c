import Foundation

extension HTTPCookie {
    /// A copy with these values, created now.
    func with(isSecure: Bool, isHTTPOnly: Bool, comment: String?) -> HTTPCookie {
        // The stock cookie doesn't read its properties in the form in which it returns them.
        var properties: [HTTPCookiePropertyKey: Any] = [
            .name: name, .value: value, .domain: domain, .path: path, .version: "\(version)",
            .discard: isSessionOnly ? "TRUE" : "FALSE",
        ]
        properties[.expires] = expiresDate
        properties[.comment] = comment
        properties[.commentURL] = commentURL
        properties[.originURL] = self.properties?[.originURL]
        properties[.port] = portList?.map(\.stringValue).joined(separator: ",")
        if isSecure { properties[.secure] = "TRUE" }
        if isHTTPOnly { properties[HTTPCookiePropertyKey("HttpOnly")] = "TRUE" }
        return HTTPCookie(properties: properties) ?? self
    }
}
