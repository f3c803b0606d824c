import Foundation

/// A task that exchanges messages with a server over a web socket (RFC 6455).
///
/// All methods may be called from any thread at any time, even before the task is resumed: messages wait until the web socket is open.
/// After the task has completed, calls fail with its error, or with `networkConnectionLost` if it has none. Messages that arrived earlier
/// can still be received, unless the task was cancelled. Handlers are called on the session's delegate queue. See <doc:WebSockets>.
///
/// Source: <https://developer.apple.com/documentation/foundation/urlsessionwebsockettask>
open class URLSessionWebSocketTask: URLSessionTask, @unchecked Sendable {
    // @unchecked: never changes.
    fileprivate let exchange: WebSocketExchange?

    /// Creates a stand-in without a session, for tests that override what they need. It keeps the values set on it.
    public override init() {
        exchange = nil
        super.init()
    }

    init(_ engine: any TaskEngine, _ exchange: WebSocketExchange) {
        self.exchange = exchange
        super.init(engine: engine)
    }

    /// A message.
    public enum Message: Sendable, Hashable {
        /// Binary data.
        case data(Data)
        /// Text, sent as UTF-8.
        case string(String)
    }

    /// The reason a web socket was closed (RFC 6455 §7.4.1).
    ///
    /// Servers and programs may define their own statuses, from 3000 to 4999; see ``URLSessionWebSocketTask/closeStatus`` and
    /// ``URLSessionWebSocketTask/cancel(withStatus:reason:)``.
    public enum CloseCode: Int, Sendable {
        /// The web socket is open, or its status is none of these.
        case invalid = 0
        /// The web socket has served its purpose.
        case normalClosure = 1000
        /// One side is going away: a server is stopping, or a program is exiting.
        case goingAway = 1001
        /// One side violated the protocol.
        case protocolError = 1002
        /// One side can't accept data of that kind.
        case unsupportedData = 1003
        /// The close frame had no status. Never sent.
        case noStatusReceived = 1005
        /// The connection was lost without a close frame. Never sent.
        case abnormalClosure = 1006
        /// Text wasn't UTF-8, or compressed data was damaged.
        case invalidFramePayloadData = 1007
        /// A message violated a policy.
        case policyViolation = 1008
        /// A message was too large.
        case messageTooBig = 1009
        /// The server didn't agree to an extension that the client needs.
        case mandatoryExtensionMissing = 1010
        /// The server encountered an internal error.
        case internalServerError = 1011
        /// The TLS handshake failed. Never sent.
        case tlsHandshakeFailure = 1015
    }

    // MARK: - Messages

    /// Sends a message after all earlier ones. `completionHandler` is called once the system has accepted the whole message, or with the
    /// error that prevented this; handlers are called in the order of the messages.
    ///
    /// Messages wait for the network in memory. A program that waits for the handler before sending the next message limits this to one
    /// message and 320 KiB for its frames.
    open func send(_ message: Message, completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
        guard let exchange else { return completionHandler(Self.noSession) }
        exchange.send(message.content, isHandler: true) { completionHandler($0.error) }
    }

    /// Sends a message, and returns once the system has accepted all of it. Cancelling the waiting Swift task doesn't end the wait.
    open func send(_ message: Message) async throws {
        guard let exchange else { throw Self.noSession }
        try await withUnsafeThrowingContinuation { (continuation: UnsafeContinuation<Void, any Error>) in
            exchange.send(message.content, isHandler: false) { continuation.resume(with: $0) }
        }
    }

    /// Passes the next message to `completionHandler`. Messages are delivered in the order of the calls.
    ///
    /// Once 256 KiB of messages wait to be received, reading stops, which holds the server back, until no more than half of that is left.
    open func receive(completionHandler: @escaping @Sendable (Result<Message, any Error>) -> Void) {
        guard let exchange else { return completionHandler(.failure(Self.noSession)) }
        exchange.receive(exchange.makeReceiver(), isHandler: true) { completionHandler($0.map(Message.init)) }
    }

    /// Returns the next message. Cancelling the waiting Swift task throws a `CancellationError`, and loses no message.
    open func receive() async throws -> Message {
        guard let exchange else { throw Self.noSession }
        let number = exchange.makeReceiver()
        defer { exchange.forgetReceiver(number) }
        return try await withTaskCancellationHandler {
            try await withUnsafeThrowingContinuation { continuation in
                exchange.receive(number, isHandler: false) { continuation.resume(with: $0.map(Message.init)) }
            }
        } onCancel: {
            exchange.cancelReceiver(number)
        }
    }

    /// Sends a ping. `pongReceiveHandler` is called once the server has answered, or with the error that rules out an answer.
    open func sendPing(pongReceiveHandler: @escaping @Sendable ((any Error)?) -> Void) {
        guard let exchange else { return pongReceiveHandler(Self.noSession) }
        exchange.sendPing(isHandler: true) { pongReceiveHandler($0.error) }
    }

    /// Sends a ping, and returns once the server has answered. Cancelling the waiting Swift task doesn't end the wait.
    open func sendPing() async throws {
        guard let exchange else { throw Self.noSession }
        try await withUnsafeThrowingContinuation { (continuation: UnsafeContinuation<Void, any Error>) in
            exchange.sendPing(isHandler: false) { continuation.resume(with: $0) }
        }
    }

    /// The maximum size of a received message, in bytes: all of its fragments together, uncompressed. A larger message fails the task. The
    /// default is 1 MiB.
    open var maximumMessageSize: Int {
        get {
            exchange?.maximumMessageSize ?? sessionless?.maximumMessageSize
                ?? WebSocketExchange.defaultMaximumMessageSize
        }
        set {
            exchange?.maximumMessageSize = newValue
            sessionless?.maximumMessageSize = newValue
        }
    }

    // MARK: - The end

    /// Closes the web socket after all earlier messages have been sent. The task completes when the server has answered, when it hasn't
    /// answered within ``CurlOptions/WebSocketOptions/closeTimeout``, or when it has accepted no bytes for that long. In the meantime
    /// nothing is received, and messages sent after this call fail when the task completes. A web socket that isn't open yet is
    /// cancelled.
    ///
    /// A status that must not be sent, such as `.abnormalClosure`, is omitted along with the reason. The reason is truncated to 123 bytes
    /// of UTF-8.
    open func cancel(with closeCode: CloseCode, reason: Data?) {
        cancel(withStatus: closeCode.rawValue, reason: reason)
    }

    /// The status of the server's close frame or, before that has arrived, of the task's own. `.abnormalClosure` if an open web socket's
    /// connection was lost without either; `.invalid` if there is no status, or if it isn't a case of ``CloseCode``.
    open var closeCode: CloseCode { closeStatus.flatMap(CloseCode.init(rawValue:)) ?? .invalid }

    /// The reason in the same close frame as ``closeCode``.
    open var closeReason: Data? { exchange?.closeReason }

    /// A stand-in has no server: only its `closeCode` counts.
    fileprivate var wasClosedAsItShould: Bool {
        guard exchange?.wasClosedByServer != false else { return false }
        return [.normalClosure, .goingAway, .noStatusReceived].contains(closeCode)
    }

    private static let noSession = URLError(.unsupportedURL, url: nil, "The task belongs to no session.")

    // MARK: - Requests

    /// The request that the task was created with.
    open override var originalRequest: URLRequest? { shown(super.originalRequest) }

    /// The request that opens or opened the web socket.
    open override var currentRequest: URLRequest? { shown(super.currentRequest) }

    private func shown(_ request: URLRequest?) -> URLRequest? {
        guard let exchange, var request else { return request }
        request.url = request.url.map(exchange.shown)
        return request
    }
}

extension URLSessionWebSocketTask: _URLSessionAdditions {}

extension _URLSessionAdditions where Self: URLSessionWebSocketTask {
    /// The messages, as they arrive. An addition of this module.
    ///
    /// The sequence ends when the server has closed the web socket, or answered ``cancel(with:reason:)``, with the status 1000 or 1001, or
    /// without one; otherwise it throws the task's error, or `networkConnectionLost` if the task has none. Each message goes to one
    /// receiver; iterators share the messages.
    public var messages: URLSessionWebSocketTask.Messages { URLSessionWebSocketTask.Messages(task: self) }

    /// Closes the web socket with any status, such as one defined by the program. An addition of this module.
    public func cancel(withStatus status: Int, reason: Data?) {
        if exchange?.close(WebSocketClosing(sending: status, reason: reason)) == false { cancel() }
    }

    /// The close status as a number, even if it isn't a case of ``CloseCode``; nil for none. An addition of this module.
    public var closeStatus: Int? { exchange?.closeCode }
}

extension URLSessionWebSocketTask {
    /// The messages of a web socket; see ``URLSessionWebSocketTask/messages``.
    public struct Messages: AsyncSequence, Sendable {
        /// One message.
        public typealias Element = Message

        let task: URLSessionWebSocketTask

        /// An iterator over the remaining messages.
        public func makeAsyncIterator() -> Iterator { Iterator(task: task) }

        /// An iterator that receives one message after another.
        public struct Iterator: AsyncIteratorProtocol {
            let task: URLSessionWebSocketTask
            fileprivate var isOver = false

            /// Returns the next message; nil after the web socket was closed with the status 1000 or 1001, or without one, and after an
            /// error.
            public mutating func next() async throws -> Message? {
                guard !isOver else { return nil }
                isOver = true
                do {
                    let message = try await task.receive()
                    isOver = false
                    return message
                } catch let error as URLError where error.code == .networkConnectionLost {
                    guard task.wasClosedAsItShould else { throw error }
                    return nil
                }
            }
        }
    }
}

extension URLSessionWebSocketTask.Message {
    init(_ content: WebSocketMessage) {
        switch content {
        case .text(let text): self = .string(text)
        case .binary(let data): self = .data(data)
        }
    }

    var content: WebSocketMessage {
        switch self {
        case .string(let text): .text(text)
        case .data(let data): .binary(data)
        }
    }
}

extension Result where Success == Void {
    fileprivate var error: (any Error)? {
        if case .failure(let error) = self { error } else { nil }
    }
}
