import Foundation

/// The URLs of web sockets (RFC 6455 §3), and those of the requests that open them.
enum WebSocketURL {
    private static let schemes = [
        ("ws", "http"), ("wss", "https"), ("ws+unix", "http+unix"), ("wss+unix", "https+unix"),
    ]

    /// The same URL with the HTTP scheme; unchanged if its scheme isn't a web socket's.
    static func request(_ url: URL) -> URL {
        replace(url) { scheme in schemes.first { $0.0 == scheme }?.1 }
    }

    /// The request that opens a web socket where `request` says, with its fields: a GET without a body (RFC 6455 §4.1). One without a URL
    /// stays as it is: the task fails, and Foundation traps on a change.
    static func opening(_ request: URLRequest) -> URLRequest {
        guard let url = request.url else { return request }
        var opening = request
        opening.url = Self.request(url)
        opening.httpMethod = "GET"
        opening.httpBody = nil
        opening.httpBodyStream = nil
        return opening
    }

    /// The reverse of `request(_:)`.
    static func shown(_ url: URL) -> URL {
        replace(url) { scheme in schemes.first { $0.1 == scheme }?.0 }
    }

    static func isWebSocket(_ url: URL) -> Bool {
        schemes.contains { $0.0 == url.scheme?.lowercased() }
    }

    private static func replace(_ url: URL, _ counterpart: (String) -> String?) -> URL {
        let text = url.absoluteString
        guard let scheme = url.scheme, let other = counterpart(scheme.lowercased()), text.hasPrefix(scheme) else {
            return url
        }
        return URL(string: other + text.dropFirst(scheme.count)) ?? url
    }
}
