import CurlNetworking
import CurlNetworkingLoopbackServer
import Foundation
import TestSupport
import Testing

extension LoopbackServer {
    /// The same as `url(_:)` with the scheme of web sockets.
    func webSocketURL(_ path: String = "/") -> URL {
        URL(string: url(path).absoluteString.replacingOccurrences(of: "http", with: "ws", options: .anchored)) ?? url
    }

    /// A server that opens a web socket on every connection.
    static func forWebSockets(
        headers: [(name: String, value: String)] = [],
        _ conversation: @escaping WebSocketConversation
    ) throws -> LoopbackServer {
        try LoopbackServer { .webSocket($0, headers: headers, conversation) }
    }
}

extension URLSessionWebSocketTask {
    /// The text of the next message.
    func receiveText() async throws -> String {
        switch try await receive() {
        case .string(let text): return text
        case .data(let data): throw UnexpectedData(data: data)
        }
    }

    struct UnexpectedData: Error {
        let data: Data
    }

    /// The error of the next thing that is asked of it.
    func receiveError() async -> URLError? {
        do {
            _ = try await receive()
            return nil
        } catch {
            return error as? URLError
        }
    }
}
