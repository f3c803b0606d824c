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

/// An open web socket whose server answers by events, and whose delegate writes down what it hears.
///
///     let rig = try WebSocketRig { event in [] }
///     defer { rig.stop() }
struct WebSocketRig: Sendable {
    let server: LoopbackServer
    let delegate = WebSocketDelegate()
    let session: URLSession
    /// It has been resumed.
    let task: URLSessionWebSocketTask

    init(
        configure: (URLSessionConfiguration) -> Void = { _ in },
        headers: [(name: String, value: String)] = [],
        _ conversation: @escaping LoopbackServer.WebSocketConversation
    ) throws {
        server = try .forWebSockets(headers: headers, conversation)
        session = .forTest(delegate: delegate, configure)
        task = session.webSocketTask(with: server.webSocketURL())
        task.resume()
    }

    /// Cancels the task, and stops the server.
    func stop() {
        session.invalidateAndCancel()
        server.stop()
    }
}

extension LoopbackServer.Body {
    /// Binary messages, each of that many bytes, without more memory than one takes.
    ///
    /// - Parameter total: How many bytes of frames are sent at most.
    static func frames(ofPayload size: Int, total: Int64) -> LoopbackServer.Body {
        let frame = LoopbackServer.WebSocketFrame.binary(Data(repeating: 7, count: size)).bytes
        let period = Int64(frame.count)
        return .produced(length: total / period * period) { range in
            var bytes = Data(capacity: range.count)
            var position = range.lowerBound
            while position < range.upperBound {
                let offset = Int(position % period)
                let count = min(frame.count - offset, Int(range.upperBound - position))
                bytes.append(frame[offset..<(offset + count)])
                position += Int64(count)
            }
            return bytes
        }
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
