import CurlTransport
import Foundation

/// The request that opens a web socket, its answer, and the web socket itself (RFC 6455 §4.1). Loop only.
final class WebSocketTransfer: Transfer, ChannelDelegate {
    /// What `start()` needs.
    struct Order {
        let options: ChannelOptions
        let hooks: TransferHooks?
        let multi: Multi
        /// The request's head.
        let head: String
        /// The web socket keeps its place at the host.
        let countsInLimits: Bool
        /// For the server's close frame, once ours is sent.
        let closeTimeout: Duration
        /// nil where nobody wants metrics.
        var throughProxy: Bool?
    }

    private enum State {
        case idle(Order)
        case connecting(Order)
        /// The request is sent.
        case awaitingAnswer(Order)
        /// An answer that opens no web socket, or whose meaning is being decided.
        case answered
        case open(WebSocketConnection)
        case over
    }

    /// What the metrics tell of the request and its answer.
    private struct Handshake {
        let begin: MonotonicTime
        var sent: MonotonicTime?
        var answered: MonotonicTime?
        /// The sizes of the heads, in bytes.
        var requestSize = 0
        var responseSize = 0
    }

    private let request: URLRequest
    private let exchange: WebSocketExchange
    private let loop: EventLoop
    private unowned let delegate: any TransferDelegate
    private var state: State
    private var channel: Channel?
    private var inquiry: HandshakeInquiry?
    private var isPaused = false

    private var parser = HeadParser()
    /// The beginning of a line whose end has yet to come.
    private var line: [UInt8] = []
    private var head: ResponseHead?
    private var tunnel: ProxyTunnel?
    private var ending = TransferEnding()

    private(set) var connection = ConnectionReport()
    private(set) var metrics: HopMetrics?
    private var handshake: Handshake
    private var activity: MonotonicTime

    init(
        _ request: URLRequest,
        _ exchange: WebSocketExchange,
        _ order: Order,
        loop: EventLoop,
        delegate: any TransferDelegate
    ) {
        self.request = request
        self.exchange = exchange
        self.loop = loop
        self.delegate = delegate
        state = .idle(order)
        handshake = Handshake(begin: loop.now)
        activity = loop.now
        ending.isOfNetwork = true
        if order.options.usesTunnel { tunnel = ProxyTunnel() }
        if let throughProxy = order.throughProxy {
            metrics = HopMetrics(request)
            metrics?.isProxyConnection = throughProxy
        }
    }

    // MARK: - Transfer

    let source = HopMetrics.Source.network

    func start() throws(URLError) {
        guard case .idle(let order) = state else { return }
        do throws(TransferFailure) {
            channel = try Channel(order.options, in: order.multi, hooks: order.hooks, delegate: self)
        } catch {
            throw URLError(error, of: order.hooks, url: request.url)
        }
        inquiry = order.options.inquiry
        state = .connecting(order)
    }

    func cancel() {
        settleMetrics()
        if case .open(let connection) = state { connection.cancel() }
        state = .over
        close()
    }

    private func close() {
        channel.take()?.close()
        inquiry?.close()
    }

    func setPaused(_ isPaused: Bool) -> Bool {
        self.isPaused = isPaused
        if isPaused { ending.wasPaused = true }
        activity = loop.now
        switch state {
        case .open(let connection): connection.setPaused(isPaused)
        case .awaitingAnswer: channel?.setReading(!isPaused)
        case .idle, .connecting, .answered, .over: break
        }
        return true
    }

    /// An open web socket may be silent for as long as it likes.
    var lastActivity: MonotonicTime? {
        switch state {
        case .idle, .connecting, .awaitingAnswer, .answered: activity
        case .open, .over: nil
        }
    }

    var phase: TransferPhase {
        switch state {
        case .idle: .preparing
        case .connecting: channel?.phase ?? .preparing
        case .awaitingAnswer: .sending
        case .answered, .open, .over: .receiving
        }
    }

    func wishesChanged() {
        if case .open(let connection) = state { connection.proceed() }
    }

    /// What somebody has decided about an answer that was held.
    func proceed(to route: BodyRoute) {
        guard case .answered = state, let head else { return }
        act(on: route, head)
    }

    // MARK: - The handshake

    func channel(_ channel: Channel, receivedTunnelHeaderLine line: UnsafeRawBufferPointer) -> ReceiveVerdict {
        activity = loop.now
        channel.trace(.headerIn, line)
        return tunnel?.consume(lines: line) == false ? .abort : .accepted
    }

    func channelOpened(_ channel: Channel) {
        guard case .connecting(let order) = state else { return }
        activity = loop.now
        handshake.sent = loop.now
        state = .awaitingAnswer(order)
        metrics?.tls = channel.tlsSession
        let bytes = Array(order.head.utf8)
        handshake.requestSize = bytes.count
        bytes.withUnsafeBytes { bytes in
            channel.trace(.headerOut, bytes)
            channel.send(bytes)
        }
        channel.setReading(!isPaused)
        channel.flush()
    }

    func channelSentAll(_ channel: Channel) {
        if case .open(let connection) = state { connection.sentAll() } else { activity = loop.now }
    }

    func channel(_ channel: Channel, received bytes: UnsafeRawBufferPointer) {
        switch state {
        case .open(let connection): connection.received(bytes)
        case .awaitingAnswer(let order): receive(bytes, order)
        // The body of an answer that opens no web socket.
        case .answered: channel.setReading(false)
        case .idle, .connecting, .over: break
        }
    }

    /// The next bytes of the answer's head, and perhaps what follows it.
    private func receive(_ bytes: UnsafeRawBufferPointer, _ order: Order) {
        activity = loop.now
        if handshake.answered == nil { handshake.answered = loop.now }
        var rest = bytes[...]
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            line.append(contentsOf: rest[...end])
            rest = rest[(end + 1)...]
            guard consumeLine(), case .awaitingAnswer = state else { return settle() }
            if let head {
                decide(about: head, Array(rest), order)
                return settle()
            }
        }
        line.append(contentsOf: rest)
        if line.count > Self.longestLine { fail(Self.invalidHead(request.url)) }
        settle()
    }

    private func settle() {
        if case .over = state { return }
        delegate.transferSettled(self)
    }

    /// In bytes; a whole head may be no longer.
    private static let longestLine = 300 * 1024

    private static func invalidHead(_ url: URL?) -> URLError {
        URLError(.badServerResponse, url, "The response's head is not valid or too large.")
    }

    /// False where the transfer has failed with it.
    private func consumeLine() -> Bool {
        let event = line.withUnsafeBytes { line in
            channel?.trace(.headerIn, line)
            handshake.responseSize += line.count
            return parser.consume(lines: line)
        }
        // What is no answer of HTTP at all needn't ever come to an empty line.
        let isFirst = handshake.responseSize == line.count
        let isAnswer = !isFirst || line.starts(with: "HTTP/1.".utf8)
        line.removeAll(keepingCapacity: true)
        for head in parser.informational { delegate.transfer(self, receivedInformational: head) }
        parser.informational = []
        switch event {
        case .incomplete where isAnswer: return true
        case .incomplete, .unparsable:
            fail(URLError(.cannotParseResponse, request.url, "The response has no status line."))
        case .malformed:
            fail(Self.invalidHead(request.url))
        case .complete(let head):
            self.head = head
            line = []
            return true
        }
        return false
    }

    // MARK: - The answer

    private func decide(about head: ResponseHead, _ rest: [UInt8], _ order: Order) {
        settleMetrics()
        do throws(URLError) {
            let received = ReceivedHead(head: head.shown, request: request, tunnel: tunnel)
            guard let agreement = try? exchange.handshake.agreement(by: head) else {
                state = .answered
                channel?.setReading(false)
                return act(on: try delegate.transfer(self, received: received), head)
            }
            guard case .deliver = try delegate.transfer(self, received: received), let channel else {
                return fail(Self.invalidHead(request.url))
            }
            open(channel, agreement, rest, order)
        } catch {
            fail(error)
        }
    }

    private func open(
        _ channel: Channel,
        _ agreement: WebSocketHandshake.Agreement,
        _ rest: [UInt8],
        _ order: Order
    ) {
        let connection = WebSocketConnection(
            channel,
            exchange,
            agreement.compression,
            after: rest,
            isPaused: isPaused,
            closeTimeout: order.closeTimeout,
            loop: loop,
            owner: self
        )
        state = .open(connection)
        // Others at the host must not wait for a connection that they can't share.
        if order.countsInLimits {
            self.connection.establishment = .established(negotiated: nil)
        } else {
            delegate.transferLeftConnection(self)
        }
        exchange.opened(agreement.subprotocol)
        connection.start()
    }

    private func act(on route: BodyRoute, _ head: ResponseHead) {
        switch route {
        case .hold: break
        // Something else follows. Its own connection will tell.
        case .discard: finish(nil)
        case .deliver: fail(refusal(of: head))
        }
    }

    private func refusal(of head: ResponseHead) -> URLError {
        var description = "The server doesn't open a web socket."
        do throws(WebSocketRefusal) {
            _ = try exchange.handshake.agreement(by: head)
        } catch {
            description = error.description
        }
        let code: URLError.Code =
            head.status == 401 || head.status == 407 ? .userAuthenticationRequired : .badServerResponse
        return URLError(code, request.url, description)
    }

    // MARK: - The end

    func channelReachedEnd(_ channel: Channel) {
        switch state {
        case .open(let connection): connection.reachedEnd()
        case .awaitingAnswer:
            let description = "The server closed the connection before the response's head was complete."
            fail(URLError(.networkConnectionLost, request.url, description))
        case .idle, .connecting, .answered, .over: break
        }
    }

    func channel(_ channel: Channel, failed failure: TransferFailure) {
        switch state {
        case .open(let connection): connection.failed(failure)
        case .idle, .connecting, .awaitingAnswer:
            if failure.code != .operationTimedOut { ending.refusal = tunnel?.refusal }
            if let refusal = ending.refusal {
                finish(URLError(failure, url: request.url, refusal: refusal))
            } else {
                finish(URLError(failure, url: request.url))
            }
        // Whoever decides about the answer has no use for the connection.
        case .answered, .over: break
        }
    }

    private func fail(_ error: URLError) {
        finish(error.with(phase: head == nil ? .sending : .receiving))
    }

    /// The last report.
    private func finish(_ error: URLError?) {
        if case .over = state { return }
        settleMetrics()
        state = .over
        close()
        ending.error = error
        ending.head = head
        ending.handshakeQuestion = inquiry?.question
        delegate.transferFinished(self, ending)
    }

    /// Of the handshake: a web socket is no response that takes long.
    private func settleMetrics() {
        guard metrics != nil, let channel, var statistics = channel.statistics else { return }
        if case .open = state { return }
        statistics.requestStarted = handshake.sent.map { $0 - handshake.begin }
        statistics.requestSent = statistics.requestStarted
        statistics.responseStarted = handshake.answered.map { $0 - handshake.begin }
        statistics.total = loop.now - handshake.begin
        statistics.newConnections = 1
        statistics.applicationProtocol = "http/1.1"
        statistics.requestHeadSize = Int64(handshake.requestSize)
        statistics.responseHeadSize = Int64(handshake.responseSize)
        metrics?.statistics = statistics
        metrics?.head = head
    }
}

extension WebSocketTransfer: WebSocketConnectionOwner {
    func webSocketFinished(_ ending: WebSocketCloseHandshake.Ending, _ failure: TransferFailure?) {
        switch ending {
        case .closed(let closing):
            exchange.tellClosed(closing)
            finish(nil)
        case .failed:
            finish(ending.error(at: request.url))
        case .lost:
            finish(failure.map { URLError($0, url: request.url) } ?? ending.error(at: request.url))
        }
    }
}

extension ResponseHead {
    /// With a redirect's target as a URL of HTTP: the request that follows is one.
    fileprivate var shown: ResponseHead {
        guard (300..<400).contains(status), let location = self["Location"], let url = URL(string: location),
            WebSocketURL.isWebSocket(url)
        else { return self }
        var shown = self
        for index in fields.indices where fields[index].name.isEqualIgnoringASCIICase(to: "Location") {
            shown.fields[index].value = WebSocketURL.request(url).absoluteString
        }
        return shown
    }
}
