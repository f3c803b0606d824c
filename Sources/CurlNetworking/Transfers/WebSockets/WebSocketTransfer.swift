import CurlTransport
import Foundation

/// The request that opens a web socket, the response, and the web socket itself (RFC 6455 §4.1). Loop only.
final class WebSocketTransfer: Transfer, ChannelDelegate {
    /// What `start()` needs.
    struct Setup {
        let channel: ChannelOpening.Setup
        let handshake: WebSocketHandshake
        let head: RequestHead
        /// Whether the web socket keeps its place at the host.
        let countsInLimits: Bool
        /// How long the server's close frame may take once ours is sent.
        let closeTimeout: Duration
    }

    private enum State {
        case idle(Setup)
        case connecting(Setup)
        /// The request is sent.
        case awaitingResponse(Setup)
        /// The response doesn't open a web socket, for this reason.
        case answered(WebSocketRefusal)
        /// The response opens a web socket, once its cookies are stored.
        case opening
        case open(WebSocketConnection)
        /// The connection has ended, which isn't reported while the task is suspended.
        case ended(WebSocketCloseHandshake.Ending, TransferFailure?)
        case over
    }

    private let request: URLRequest
    private let exchange: WebSocketExchange
    private let loop: EventLoop
    private unowned let delegate: any TransferDelegate
    private var state: State
    private let heads: HeadExchange

    init(
        _ request: URLRequest,
        _ exchange: WebSocketExchange,
        _ setup: Setup,
        loop: EventLoop,
        delegate: any TransferDelegate
    ) {
        self.request = request
        self.exchange = exchange
        self.loop = loop
        self.delegate = delegate
        state = .idle(setup)
        heads = HeadExchange(request, over: setup.channel, loop: loop)
    }

    // MARK: - Transfer

    var source: HopMetrics.Source { .network }

    func start() throws(URLError) {
        guard case .idle(let setup) = state else { return }
        try heads.begin(setup.channel, for: self)
        state = .connecting(setup)
    }

    func cancel() {
        settleMetrics()
        if case .open(let connection) = state { connection.cancel() }
        state = .over
        heads.close()
    }

    var isPaused: Bool { heads.isPaused }

    func setPaused(_ isPaused: Bool) {
        heads.setPaused(isPaused)
        switch state {
        case .awaitingResponse: heads.channel?.setReading(!isPaused)
        // The exchange knows of it already.
        case .open, .ended: break
        case .idle, .connecting, .answered, .opening, .over: break
        }
    }

    /// An open web socket may be silent for as long as it likes.
    var lastActivity: MonotonicTime? {
        switch state {
        case .idle, .connecting, .awaitingResponse, .answered, .opening: heads.activity
        case .open, .ended, .over: nil
        }
    }

    var phase: TransferPhase {
        switch state {
        case .idle, .connecting: heads.phase
        case .awaitingResponse: heads.phase(hasWritten: true)
        case .answered, .opening, .open, .ended, .over: .receiving
        }
    }

    func exchangeChanged() {
        switch state {
        case .open(let connection): connection.proceed()
        case .ended: reportEnd()
        case .idle, .connecting, .awaitingResponse, .answered, .opening, .over: break
        }
    }

    /// Called when it is decided what becomes of a held response.
    func proceed(to route: BodyRoute) {
        guard case .answered(let refusal) = state, let head = heads.head else { return }
        act(on: route, head, refusal)
    }

    // MARK: - The handshake

    func channel(_ channel: Channel, receivedTunnelHeaderLine line: UnsafeRawBufferPointer) -> ReceiveVerdict {
        delegate.transfer(self, received: heads.received(tunnelLine: line, on: channel))
    }

    func channelOpened(_ channel: Channel) {
        guard case .connecting(let setup) = state else { return }
        state = .awaitingResponse(setup)
        heads.send(setup.head.text, on: channel)
        channel.setReading(!heads.isPaused)
        channel.flush()
    }

    func channelSentAll(_ channel: Channel) {
        if case .open(let connection) = state { connection.sentAll() } else { heads.noteActivity() }
    }

    /// The server may have closed the web socket after messages that the program hasn't received.
    var takesLastWords: Bool {
        if case .open = state { true } else { false }
    }

    func channelReading(_ channel: Channel) -> ChannelReading {
        if case .open(let connection) = state { connection.nextReading } else { .upTo(.max) }
    }

    func channel(_ channel: Channel, received bytes: UnsafeRawBufferPointer) {
        switch state {
        case .open(let connection): connection.received(bytes)
        case .awaitingResponse(let setup): receive(bytes, setup)
        // The body of a response that doesn't open a web socket.
        case .answered: channel.setReading(false)
        case .opening: break
        case .idle, .connecting, .ended, .over: break
        }
    }

    /// Takes the next bytes of the response's head, and perhaps of what follows it.
    private func receive(_ bytes: UnsafeRawBufferPointer, _ setup: Setup) {
        do throws(URLError) {
            let response = try heads.receive(bytes) { delegate.transfer(self, receivedInformational: $0) }
            if case .awaitingResponse = state, let (head, rest) = response { decide(about: head, Array(rest), setup) }
        } catch {
            fail(error)
        }
        if case .over = state { return }
        delegate.transferSettled(self)
    }

    // MARK: - The response

    private func decide(about head: ResponseHead, _ rest: [UInt8], _ setup: Setup) {
        settleMetrics()
        do throws(URLError) {
            let received = heads.received(head.shown)
            let agreement: WebSocketHandshake.Agreement
            do throws(WebSocketRefusal) {
                agreement = try setup.handshake.agreement(by: head)
            } catch let refusal {
                state = .answered(refusal)
                heads.channel?.setReading(false)
                return act(on: try delegate.transfer(self, received: received), head, refusal)
            }
            guard case .deliver = try delegate.transfer(self, received: received), let channel = heads.channel else {
                return fail(.invalidHead(request.url))
            }
            state = .opening
            exchange.whenShown { [weak self] in self?.open(channel, agreement, rest, setup) }
            if case .opening = state { channel.setReading(false) }
        } catch {
            fail(error)
        }
    }

    private func open(
        _ channel: Channel,
        _ agreement: WebSocketHandshake.Agreement,
        _ rest: [UInt8],
        _ setup: Setup
    ) {
        guard case .opening = state else { return }
        let connection = WebSocketConnection(
            channel,
            exchange,
            compression: agreement.compression,
            after: rest,
            closeTimeout: setup.closeTimeout,
            loop: loop,
            owner: self
        )
        state = .open(connection)
        if !setup.countsInLimits { delegate.transferLeftConnection(self) }
        exchange.opened(agreement.subprotocol)
        channel.setReading(true)
        connection.proceed()
    }

    private func act(on route: BodyRoute, _ head: ResponseHead, _ refusal: WebSocketRefusal) {
        switch route {
        case .hold: break
        // Another request follows, and reports its own connection.
        case .discard: finish(nil)
        case .deliver:
            let code: URLError.Code =
                head.status == 401 || head.status == 407 ? .userAuthenticationRequired : .badServerResponse
            fail(URLError(code, url: request.url, refusal.description))
        }
    }

    // MARK: - The end

    func channelReachedEnd(_ channel: Channel) {
        switch state {
        case .open(let connection): connection.reachedEnd()
        case .awaitingResponse:
            fail(URLError(.networkConnectionLost, url: request.url, TransferFailure.noHead.text))
        // Not reported while nothing is read.
        case .idle, .connecting, .answered, .opening, .ended, .over: break
        }
    }

    func channel(_ channel: Channel, failed failure: TransferFailure) {
        switch state {
        case .open(let connection): connection.failed(failure)
        case .idle, .connecting, .awaitingResponse, .opening:
            finish(heads.error(after: failure))
        // The decision about the response doesn't need the connection.
        case .answered, .ended, .over: break
        }
    }

    private func fail(_ error: URLError) {
        finish(error.with(phase: phase))
    }

    /// Makes the last report.
    private func finish(_ error: URLError?) {
        if case .over = state { return }
        settleMetrics()
        state = .over
        delegate.transferFinished(self, heads.end(error))
    }

    var metrics: HopMetrics? { heads.log.metrics }

    /// Metrics of the handshake only: an open web socket isn't a long response.
    private func settleMetrics() {
        switch state {
        case .open, .ended: break
        case .idle, .connecting, .awaitingResponse, .answered, .opening, .over: heads.settleMetrics()
        }
    }
}

extension WebSocketTransfer: WebSocketConnectionOwner {
    func webSocketFinished(_ ending: WebSocketCloseHandshake.Ending, _ failure: TransferFailure?) {
        state = .ended(ending, failure)
        reportEnd()
    }

    /// Called when the connection has ended, and then whenever the exchange has changed: the task may have been resumed.
    private func reportEnd() {
        guard case .ended(let ending, let failure) = state else { return }
        let closing: WebSocketClosing? = if case .closed(let closing) = ending { closing } else { nil }
        guard exchange.disconnect(closing) else {
            // Nothing is left to be done at the host.
            return delegate.transferLeftConnection(self)
        }
        switch ending {
        case .closed:
            finish(nil)
        case .failed:
            finish(ending.error(at: request.url))
        case .lost:
            finish(failure.map { URLError($0, url: request.url) } ?? ending.error(at: request.url))
        }
    }
}

extension ResponseHead {
    /// With the target of a redirect as an http or https URL, like the request that follows it.
    fileprivate var shown: ResponseHead {
        guard (300..<400).contains(status), let location = self["Location"], let url = URL(string: location),
            WebSocketURL.isWebSocket(url)
        else { return self }
        var shown = self
        shown.fields = HeaderFields(
            fields.map { field in
                guard field.name.isEqualIgnoringASCIICase(to: "Location") else { return field }
                return HeaderField(name: field.name, value: WebSocketURL.request(url).absoluteString)
            }
        )
        return shown
    }
}
