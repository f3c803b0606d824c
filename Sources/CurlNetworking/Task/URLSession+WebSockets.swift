import CurlTransport
import Foundation

extension URLSession {
    func makeWebSocketTask(_ shown: URLRequest, protocols: [String]) -> URLSessionWebSocketTask {
        let request = WebSocketURL.opening(shown)
        let field = core.settings.additionalHeaders
            .first { $0.name.isEqualIgnoringASCIICase(to: WebSocketHandshake.protocolField) }
        let protocols = protocols.isEmpty ? WebSocketHandshake.protocols(in: field?.value) : protocols
        let compression = MessageInflater.isAvailable ? core.settings.webSockets.compression : nil
        let exchange = WebSocketExchange(
            WebSocketHandshake.Offer(protocols: protocols, compression: compression?.offer),
            showsWebSocketURL: shown.url.map(WebSocketURL.isWebSocket) ?? false
        )
        let handle = TaskHandle(
            identifier: core.makeTaskIdentifier(),
            session: core,
            request: request,
            consumer: .webSocket(exchange),
            makeSteps: makeSteps(forTasksCalled: "Web sockets", request) { Steps($0, $1) }
        )
        exchange.join(handle)
        return introduce(URLSessionWebSocketTask(handle, exchange))
    }
}
