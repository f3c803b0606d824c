import CurlNetworking
import Foundation

/// A delegate that records what it is told about web sockets, in order.
package final class WebSocketDelegate: NSObject, URLSessionWebSocketDelegate {
    package enum Event: Sendable, Equatable {
        case opened(String?)
        case closed(Int, reason: String)
        /// Added by a test.
        case noted(String)
        /// nil for success; `.unknown` for anything but a `URLError`.
        case completed(URLError.Code?)
        case becameInvalid
    }

    private let record = Watched<[Event]>([])
    private let lastError = Watched<URLError?>(nil)
    private let onOpen: (@Sendable (WebSocketDelegate, URLSessionWebSocketTask) -> Void)?

    package init(onOpen: (@Sendable (WebSocketDelegate, URLSessionWebSocketTask) -> Void)? = nil) {
        self.onOpen = onOpen
    }

    package var events: [Event] { record.value }
    /// The task's, once it is complete.
    package var error: URLError? { lastError.value }

    package func note(_ text: String) {
        record.update { $0.append(.noted(text)) }
    }

    /// Notes the text of each of the task's messages, whose handler asks for the next, and then that there are no more.
    package func noteMessages(of task: URLSessionWebSocketTask) {
        task.receive { [self] result in
            guard case .success(.string(let text)) = result else { return note("no more") }
            note(text)
            noteMessages(of: task)
        }
    }

    /// Returns when the task is complete, with everything it was told.
    @discardableResult
    package func completion() async throws -> [Event] {
        try await wait { if case .completed = $0 { true } else { false } }
    }

    package func opening() async throws {
        try await wait { if case .opened = $0 { true } else { false } }
    }

    @discardableResult
    package func wait(for isWanted: @escaping @Sendable (Event) -> Bool) async throws -> [Event] {
        try await record.wait { $0.contains(where: isWanted) }
        return events
    }

    package func urlSession(
        _ session: URLSession,
        webSocketTask: URLSessionWebSocketTask,
        didOpenWithProtocol protocol: String?
    ) {
        record.update { $0.append(.opened(`protocol`)) }
        onOpen?(self, webSocketTask)
    }

    package func urlSession(
        _ session: URLSession,
        webSocketTask: URLSessionWebSocketTask,
        didCloseWith closeCode: URLSessionWebSocketTask.CloseCode,
        reason: Data?
    ) {
        let reason = String(decoding: reason ?? Data(), as: UTF8.self)
        record.update { $0.append(.closed(closeCode.rawValue, reason: reason)) }
    }

    package func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let error = error.map { $0 as? URLError ?? URLError(.unknown) }
        lastError.update { $0 = error }
        record.update { $0.append(.completed(error?.code)) }
    }

    package func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        record.update { $0.append(.becameInvalid) }
    }
}
