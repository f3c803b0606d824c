import Foundation

// What the server has seen and done. Each property is a snapshot; each function waits for an event, without polling, and
// throws `CancellationError` if the task is cancelled, or the server stopped, before it happens.
extension LoopbackServer {
    /// Every request whose head has arrived, in order of arrival. Complete ones have their body; see
    /// `Request.bodyState`. Empty if `Options.keepsRequests` is off.
    package var requests: [Request] { recorder.read(\.requests) }

    /// How many heads have arrived.
    package var requestCount: Int { recorder.read(\.heads) }

    /// How many TCP connections have been accepted.
    package var connectionCount: Int { recorder.read(\.accepted) }

    /// How many TCP connections are open.
    package var openConnections: Int { recorder.read(\.open) }

    /// How many connections have more to send than the client takes now.
    package var blockedConnections: Int { recorder.read(\.blocked) }

    /// How many bytes, heads and bodies, the kernel has taken for all clients.
    package var bytesSent: Int64 { recorder.read(\.bytesSent) }

    /// How many bytes, head and body, the kernel has taken in answer to a request.
    ///
    /// - Parameter number: The request's ordinal, from 1.
    package func bytesSent(inAnswerTo number: Int) -> Int64 {
        recorder.read { $0.sent.indices.contains(number - 1) ? $0.sent[number - 1] : 0 }
    }

    /// How many bytes of request bodies, decoded, have been received.
    package var bodyBytesReceived: Int64 { recorder.read(\.bodyBytesReceived) }

    /// The statuses with which the server itself refused what it couldn't understand.
    package var rejections: [Int] { recorder.read(\.rejections) }

    // MARK: - Waiting

    /// The request with this ordinal, from 1, when its body is complete or cut off.
    package func request(number: Int) async throws -> Request {
        try await recorder.wait { $0.requests.count >= number && $0.requests[number - 1].bodyState != .arriving }
        return recorder.read { $0.requests[number - 1] }
    }

    /// The request with this ordinal, from 1, as soon as its head has arrived.
    package func requestHead(number: Int) async throws -> Request {
        try await recorder.wait { $0.requests.count >= number }
        return recorder.read { $0.requests[number - 1] }
    }

    /// Returns when this many requests have arrived completely.
    package func waitForRequests(_ count: Int) async throws {
        try await recorder.wait { $0.completed >= count }
    }

    /// Returns when this many connections have been accepted, open or not.
    package func waitForConnections(_ count: Int) async throws {
        try await recorder.wait { $0.accepted >= count }
    }

    /// Returns when no more connections than these are open.
    package func waitForOpenConnections(atMost count: Int) async throws {
        try await recorder.wait { $0.open <= count }
    }

    /// Returns when no connection is open.
    package func waitUntilNoConnections() async throws {
        try await waitForOpenConnections(atMost: 0)
    }

    /// Returns when this many bytes have been sent to all clients.
    package func waitForBytesSent(_ count: Int64) async throws {
        try await recorder.wait { $0.bytesSent >= count }
    }

    /// Returns when this many bytes of request bodies have been received.
    package func waitForBodyBytesReceived(_ count: Int64) async throws {
        try await recorder.wait { $0.bodyBytesReceived >= count }
    }

    /// Returns when some connection has more to send than its client takes.
    package func waitUntilBlocked() async throws {
        try await recorder.wait { $0.blocked > 0 }
    }
}
