import Foundation

/// Makes a request open a web socket. Never changes.
final class WebSocketStep: Step {
    private let exchange: WebSocketExchange

    init(_ exchange: WebSocketExchange) {
        self.exchange = exchange
    }

    /// Web sockets are opened only over HTTP (RFC 6455 §4.1). A delegate that chooses the request may name its URL as the program does.
    func prepare(_ attempt: RequestAttempt, _ context: any StepContext) -> RequestVerdict {
        if let request = context.request {
            let opening = WebSocketURL.opening(request)
            if opening != request { context.replaceRequest(opening) }
        }
        let url = context.request?.url
        guard let url, Scheme(url)?.isHTTP == true else {
            return .fail(
                URLError(.unsupportedURL, url: url, "The URL is not one of a web socket: ws, wss, http or https.")
            )
        }
        let protocols = exchange.offer.protocols
        guard protocols.allSatisfy(FieldSyntax.isToken), Set(protocols).count == protocols.count else {
            return .fail(
                URLError(.badURL, url: url, "The names of a web socket's protocols are tokens, each there once.")
            )
        }
        return .pass
    }

    func encode(_ plan: TransferPlan, _ context: any StepContext) {
        plan.webSocket = exchange
    }
}
