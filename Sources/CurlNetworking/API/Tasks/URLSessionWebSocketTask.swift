import Foundation

/// A connection over which messages go in both directions (RFC 6455).
///
/// Everything may be called from any thread at any time, even before the task is resumed: messages wait until the web socket is open. When
/// the task is over, calls fail with its error, or with `networkConnectionLost` if it has none. Messages that had arrived before can still
/// be received, unless the task was cancelled. Handlers are called on the session's delegate queue. See <doc:WebSockets>.
///
/// Source: <https://developer.apple.com/documentation/foundation/urlsessionwebsockettask>
open class URLSessionWebSocketTask: URLSessionTask, @unchecked Sendable {
    // @unchecked: this never changes.
    private let exchange: WebSocketExchange?

    /// A task without a session: a stand-in, for tests that override what they need. It keeps what is set on it.
    public override init() {
        exchange = nil
        super.init()
    }

    init(_ engine: any TaskEngine, _ exchange: WebSocketExchange) {
        self.exchange = exchange
        super.init(engine: engine)
    }

    /// One message.
    public enum Message: Sendable, Hashable {
        /// Bytes.
        case data(Data)
        /// Text, which is sent as UTF-8.
        case string(String)
    }

    /// Why a web socket was closed (RFC 6455 §7.4.1).
    ///
    /// Servers and programs have statuses of their own, from 3000 to 4999: see ``URLSessionWebSocketTask/closeStatus`` and
    /// ``URLSessionWebSocketTask/cancel(withStatus:reason:)``.
    public enum CloseCode: Int, Sendable {
        /// The web socket is open, or its status is none of these.
        case invalid = 0
        /// The web socket has served its purpose.
        case normalClosure = 1000
        /// One side is going away: a server is stopped, or a program exits.
        case goingAway = 1001
        /// One side has broken the protocol.
        case protocolError = 1002
        /// One side can't accept data of that kind.
        case unsupportedData = 1003
        /// The close frame had no status. Never sent.
        case noStatusReceived = 1005
        /// The connection was lost without a close frame. Never sent.
        case abnormalClosure = 1006
        /// Text was not UTF-8, or compressed data was damaged.
        case invalidFramePayloadData = 1007
        /// A message violated a policy.
        case policyViolation = 1008
        /// A message was too large.
        case messageTooBig = 1009
        /// The server didn't agree to an extension that the client needs.
        case mandatoryExtensionMissing = 1010
        /// The server encountered an error of its own.
        case internalServerError = 1011
        /// The TLS handshake has failed. Never sent.
        case tlsHandshakeFailure = 1015
    }

    // MARK: - Messages

    /// Sends a message, after those that were sent before. `completionHandler` is called once the system has all of it, or with the error
    /// that prevented that; handlers are called in the order of the messages.
    ///
    /// Messages wait for the network in memory: a program that waits for the handler before it sends the next one limits that to one
    /// message and 320 KiB for its frames.
    open func send(_ message: Message, completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
        guard let exchange else { return completionHandler(Self.noSession) }
        exchange.send(message.content, isHandler: true) { completionHandler($0.error) }
    }

    /// Sends a message, and returns when the system has all of it. Cancelling the Swift task that waits doesn't end it.
    open func send(_ message: Message) async throws {
        guard let exchange else { throw Self.noSession }
        try await withUnsafeThrowingContinuation { (continuation: UnsafeContinuation<Void, any Error>) in
            exchange.send(message.content, isHandler: false) { continuation.resume(with: $0) }
        }
    }

    /// Passes the next message to `completionHandler`. Messages are handed out in the order of the calls.
    ///
    /// Once 256 KiB of messages wait to be received, nothing more is read, which holds the server back, until no more than half of that
    /// is left.
    open func receive(completionHandler: @escaping @Sendable (Result<Message, any Error>) -> Void) {
        guard let exchange else { return completionHandler(.failure(Self.noSession)) }
        exchange.receive(exchange.makeReceiver(), isHandler: true) { completionHandler($0.map(Message.init)) }
    }

    /// The next message. A Swift task that is cancelled while it waits gets a `CancellationError`, and loses no message.
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

    /// The messages, as they arrive. An addition of this module.
    ///
    /// The sequence ends when the server has closed the web socket, or answered ``cancel(with:reason:)``, with the status 1000 or 1001, or
    /// without one; otherwise it throws the task's error, or `networkConnectionLost` if the task has none. Each message goes to one receiver:
    /// several iterators share them.
    public var messages: Messages { Messages(task: self) }

    /// Sends a ping. `pongReceiveHandler` is called once the server has answered, or with the error because of which it no longer can.
    open func sendPing(pongReceiveHandler: @escaping @Sendable ((any Error)?) -> Void) {
        guard let exchange else { return pongReceiveHandler(Self.noSession) }
        exchange.sendPing(isHandler: true) { pongReceiveHandler($0.error) }
    }

    /// Sends a ping, and returns when the server has answered. Cancelling the Swift task that waits doesn't end it.
    open func sendPing() async throws {
        guard let exchange else { throw Self.noSession }
        try await withUnsafeThrowingContinuation { (continuation: UnsafeContinuation<Void, any Error>) in
            exchange.sendPing(isHandler: false) { continuation.resume(with: $0) }
        }
    }

    /// The largest message that is received, in bytes: all of its fragments together, uncompressed. A larger one fails the task. The
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

    /// Closes the web socket, once all earlier messages are sent. The task is over when the server has answered, when it hasn't answered
    /// within ``CurlOptions/WebSocketOptions/closeTimeout``, or when it has accepted nothing for that long. Nothing is received
    /// meanwhile, and messages that are sent after this call fail when the task is over. A web socket that isn't open yet is cancelled.
    ///
    /// A status that must not be sent, such as `.abnormalClosure`, is left out, and the reason with it. A reason is at most 123 bytes of
    /// UTF-8; the rest is cut off.
    open func cancel(with closeCode: CloseCode, reason: Data?) {
        cancel(withStatus: closeCode.rawValue, reason: reason)
    }

    /// Closes the web socket with any status, such as one of the program's own. An addition of this module.
    public func cancel(withStatus status: Int, reason: Data?) {
        if exchange?.close(WebSocketClosing(sending: status, reason)) == false { cancel() }
    }

    /// The status of the server's close frame or, before that has arrived, of the task's own. `.abnormalClosure` once an open web socket's
    /// connection is lost without either; `.invalid` before that, or if the status isn't a case of ``CloseCode``.
    open var closeCode: CloseCode { closeStatus.flatMap(CloseCode.init(rawValue:)) ?? .invalid }

    /// The close status as a number, even if it isn't a case of ``CloseCode``; nil for none. An addition of this module.
    public var closeStatus: Int? { exchange?.closeCode }

    /// The reason in that close frame.
    open var closeReason: Data? { exchange?.closeReason }

    /// A stand-in has no server: only its `closeCode` counts.
    fileprivate var wasClosedAsItShould: Bool {
        guard exchange?.wasClosedByServer != false else { return false }
        return [.normalClosure, .goingAway, .noStatusReceived].contains(closeCode)
    }

    private static let noSession = URLError(.unsupportedURL, nil, "The task belongs to no session.")

    // MARK: - Requests

    /// The request that the task was made with.
    open override var originalRequest: URLRequest? { shown(super.originalRequest) }

    /// The request that opens, or has opened, the web socket.
    open override var currentRequest: URLRequest? { shown(super.currentRequest) }

    private func shown(_ request: URLRequest?) -> URLRequest? {
        guard let exchange, var request else { return request }
        request.url = request.url.map(exchange.shown)
        return request
    }
}

extension URLSessionWebSocketTask {
    /// The messages of a web socket; see ``URLSessionWebSocketTask/messages``.
    public struct Messages: AsyncSequence, Sendable {
        /// One message.
        public typealias Element = Message

        let task: URLSessionWebSocketTask

        /// An iterator over the messages that are still to come.
        public func makeAsyncIterator() -> Iterator { Iterator(task: task) }

        /// Receives one message after the other.
        public struct Iterator: AsyncIteratorProtocol {
            let task: URLSessionWebSocketTask
            fileprivate var isOver = false

            /// The next message; nil once the web socket was closed with the status 1000 or 1001, or without one, and after an error.
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
