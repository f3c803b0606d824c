import Foundation

extension URLSession {
    /// A task that opens a web socket at `url`, whose scheme is ws or wss; http, https, and those of Unix sockets (`ws+unix`) are good as well.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsession/websockettask(with:)-3m98i>
    public func webSocketTask(with url: URL) -> URLSessionWebSocketTask {
        webSocketTask(with: url, protocols: [])
    }

    /// The same, for a server that speaks one of `protocols`, the preferred one first. It needn't choose one:
    /// `urlSession(_:webSocketTask:didOpenWithProtocol:)` tells. Names that are no tokens (RFC 6455 §4.1) fail the task.
    public func webSocketTask(with url: URL, protocols: [String]) -> URLSessionWebSocketTask {
        makeWebSocketTask(makeRequest(url), protocols: protocols)
    }

    /// A task that opens a web socket with the fields of `request`, which is sent as a GET without a body. A field `Sec-WebSocket-Protocol` names
    /// the protocols that the program speaks.
    public func webSocketTask(with request: URLRequest) -> URLSessionWebSocketTask {
        let protocols = request.value(forHTTPHeaderField: "Sec-WebSocket-Protocol")?.split(separator: ",") ?? []
        return makeWebSocketTask(
            request,
            protocols: protocols.map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
        )
    }

    private func makeWebSocketTask(_ shown: URLRequest, protocols: [String]) -> URLSessionWebSocketTask {
        var request = shown
        request.url = shown.url.map(WebSocketURL.request)
        request.httpMethod = "GET"
        request.httpBody = nil
        request.httpBodyStream = nil
        let exchange = WebSocketExchange(
            WebSocketHandshake(protocols: protocols, compression: core.settings.webSocketCompression)
        )
        let handle = TaskHandle(
            identifier: core.makeTaskIdentifier(),
            session: core,
            request: request,
            consumer: .webSocket(exchange)
        )
        exchange.join(handle)
        let isWebSocketURL = shown.url.map(WebSocketURL.isWebSocket) ?? false
        return introduce(URLSessionWebSocketTask(handle, exchange, showsWebSocketURL: isWebSocketURL))
    }
}
