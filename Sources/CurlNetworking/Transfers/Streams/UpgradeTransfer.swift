import CurlTransport
import Foundation

/// A request that asks for another protocol (RFC 9110 §7.8), whose delegate may turn a 101 into a stream in both directions. Loop only.
///
/// libcurl can't send on a connection after a 101, so this class speaks HTTP/1.1 itself, on a channel; any other response is treated as
/// usual.
final class UpgradeTransfer: Transfer, ChannelDelegate {
    /// What `start()` needs.
    struct Setup {
        let channel: ChannelOpening.Setup
        let head: RequestHead
        let site: StreamConnection.Site
    }

    private enum State {
        case idle(Setup)
        case connecting
        /// Part of the request may still have to be sent.
        case awaitingResponse
        /// The server switches before it has the whole request, and still gets the rest.
        case sendingRest(ResponseHead, Data)
        /// The decision about the response is pending.
        case held(ResponseHead, Data)
        /// A 101, about which the delegate is still deciding.
        case switched(Data)
        case receiving(ResponseBody)
        case open(StreamConnection)
        case over
    }

    let request: URLRequest
    let loop: EventLoop
    unowned let delegate: any TransferDelegate
    private let site: StreamConnection.Site
    private let sending: UpgradeRequest
    private var state: State
    private let heads: HeadExchange
    private(set) var connection = ConnectionReport()

    var source: HopMetrics.Source { .network }

    init(
        _ request: URLRequest,
        body: (any RequestBody)?,
        _ setup: Setup,
        loop: EventLoop,
        delegate: any TransferDelegate
    ) {
        self.request = request
        self.loop = loop
        self.delegate = delegate
        site = setup.site
        sending = UpgradeRequest(setup.head, body: body)
        state = .idle(setup)
        heads = HeadExchange(request, over: setup.channel, loop: loop)
    }

    // MARK: - Transfer

    func start() throws(URLError) {
        guard case .idle(let setup) = state else { return }
        do throws(URLError) {
            try heads.begin(setup.channel, for: self)
        } catch {
            sending.close()
            throw error
        }
        state = .connecting
    }

    func cancel() {
        settleMetrics()
        close()
    }

    /// Takes the numbers while the channel and the body exist.
    private func settleMetrics() {
        if case .receiving(let body) = state { heads.log.arrived(body: body.arrivedCount) }
        heads.settleMetrics()
    }

    private func close() {
        switch state {
        case .open(let connection): connection.close()
        case .receiving(let body): body.close()
        default: break
        }
        state = .over
        sending.close()
        heads.close()
    }

    var isPaused: Bool { heads.isPaused }

    func setPaused(_ isPaused: Bool) {
        heads.setPaused(isPaused)
        if case .open(let connection) = state { return connection.port.setPaused(isPaused) }
        updateReading()
        guard !isPaused else { return }
        sendMore()
        if case .receiving(let body) = state { body.proceed() }
    }

    var metrics: HopMetrics? { heads.log.metrics }

    /// A stream may be silent for as long as it likes.
    var lastActivity: MonotonicTime? {
        switch state {
        case .open: nil
        // The time that a decision takes doesn't count as the server's.
        case .held, .switched: loop.now
        case .idle, .connecting, .awaitingResponse, .sendingRest, .receiving, .over: heads.activity
        }
    }

    func noteActivity() {
        heads.noteActivity()
    }

    var phase: TransferPhase {
        switch state {
        case .idle, .connecting: heads.phase
        case .awaitingResponse, .sendingRest: heads.phase(hasWritten: sending.isComplete)
        case .open(let connection): connection.phase
        case .held, .switched, .receiving, .over: .receiving
        }
    }

    func bodyBecameReadable() {
        sendMore()
    }

    // MARK: - The request

    func channel(_ channel: Channel, receivedTunnelHeaderLine line: UnsafeRawBufferPointer) -> ReceiveVerdict {
        delegate.transfer(self, received: heads.received(tunnelLine: line, on: channel))
    }

    func channelOpened(_ channel: Channel) {
        guard case .connecting = state else { return }
        state = .awaitingResponse
        heads.send(sending.text, on: channel)
        updateReading()
        if sending.hasBody { channel.flush() } else { sendMore() }
    }

    func channelSentAll(_ channel: Channel) {
        noteActivity()
        sendMore()
    }

    /// Continues the request's body, one piece at a time.
    private func sendMore() {
        guard let channel = heads.channel, channel.isOpen, channel.unsentCount == 0 || !sending.hasBody, !isPaused
        else { return }
        switch state {
        case .awaitingResponse, .sendingRest, .held, .receiving: break
        case .idle, .connecting, .switched, .open, .over: return
        }
        guard !sending.isComplete else { return }
        do throws(URLError) {
            let before = sending.sentCount
            let step = try sending.write(to: channel)
            if sending.sentCount > before {
                heads.log.sent(body: sending.sentCount)
                delegate.transfer(self, sent: sending.sentCount)
            }
            channel.flush()
            if case .complete = step, case .sendingRest(let head, let rest) = state { decide(about: head, rest) }
        } catch {
            fail(error)
        }
    }

    /// Called when the server doesn't want the rest of the request, and may close the connection meanwhile.
    private func stopSending() {
        sending.abandon()
        heads.channel?.stopSending()
    }

    // MARK: - The response's head

    func channel(_ channel: Channel, received bytes: UnsafeRawBufferPointer) {
        noteActivity()
        switch state {
        case .awaitingResponse: receiveHead(bytes)
        case .receiving(let body):
            body.receive(bytes)
            // The server waits until those bytes are decoded.
            updateReading()
        case .idle, .connecting, .sendingRest, .held, .switched, .open, .over: break
        }
        if case .over = state { return }
        delegate.transferSettled(self)
    }

    private func receiveHead(_ bytes: UnsafeRawBufferPointer) {
        do throws(URLError) {
            let response = try heads.receive(bytes) { delegate.transfer(self, receivedInformational: $0) }
            guard case .awaitingResponse = state, let (head, rest) = response else { return }
            if head.status == 101, !sending.isComplete {
                state = .sendingRest(head, Data(rest))
                updateReading()
            } else {
                decide(about: head, Data(rest))
            }
        } catch {
            fail(error)
        }
    }

    private func decide(about head: ResponseHead, _ rest: Data) {
        state = .held(head, rest)
        connection.responseVersion = head.version
        if head.status >= 400 { stopSending() }
        updateReading()
        do throws(URLError) {
            if head.hasUnwantedTransferCoding { throw head.unwantedTransferCoding(at: request.url) }
            proceed(to: try delegate.transfer(self, received: heads.received(head)))
        } catch {
            fail(error)
        }
    }

    func proceed(to route: BodyRoute) {
        guard case .held(let head, let rest) = state else { return }
        switch route {
        case .hold: break
        // Another request follows, on its own connection.
        case .discard: finish(nil)
        case .deliver where head.status == 101: state = .switched(rest)
        case .deliver: receiveBody(after: head, rest)
        }
    }

    // MARK: - The response's body

    private func receiveBody(after head: ResponseHead, _ rest: Data) {
        do throws(URLError) {
            let body = try ResponseBody(
                of: head,
                to: request,
                on: loop,
                isDecoded: heads.channel?.decodesContent ?? true,
                owner: self
            )
            noteActivity()
            state = .receiving(body)
            rest.withUnsafeBytes { body.receive($0) }
            updateReading()
        } catch {
            fail(error)
        }
    }

    private func updateReading() {
        let isReading =
            switch state {
            case .awaitingResponse: !isPaused
            case .receiving(let body): !isPaused && body.wantsBytes
            case .idle, .connecting, .sendingRest, .held, .switched, .open, .over: false
            }
        if case .open = state { return }
        heads.channel?.setReading(isReading)
    }

    // MARK: - The delegate's answer to a 101

    /// The delegate allows the 101, and wants the bytes after it as a body. May report some before it returns.
    func responseAllowed() {
        guard case .switched(let rest) = state, let head = heads.head else { return }
        receiveBody(after: head, rest)
        if case .receiving = state { delegate.transferSettled(self) }
    }

    /// The server has switched protocols, and the connection waits for the delegate's decision.
    var isSwitched: Bool { if case .switched = state { true } else { false } }

    /// Hands the connection, which `isSwitched`, over to `port`.
    func open(_ port: StreamPort) {
        guard case .switched(let rest) = state, let channel = heads.takeChannel() else { return }
        let connection = StreamConnection(channel, port, to: site, url: request.url, owner: self)
        state = .open(connection)
        if isPaused { port.setPaused(true) }
        // A stream is open for a long time: other requests needn't wait for its end.
        delegate.transferLeftConnection(self)
        guard case .open = state else { return }
        connection.open(after: rest)
    }

    // MARK: - The end

    func channelReachedEnd(_ channel: Channel) {
        switch state {
        case .receiving(let body): body.reachedEnd(isTruncated: channel.isTruncated)
        case .awaitingResponse:
            fail(URLError(TransferFailure.noHead, url: request.url))
        case .idle, .connecting, .sendingRest, .held, .switched, .open, .over: break
        }
    }

    func channel(_ channel: Channel, failed failure: TransferFailure) {
        finish(heads.error(after: failure))
    }

    private func fail(_ error: URLError) {
        finish(error.with(phase: phase))
    }

    /// Makes the last report.
    private func finish(_ error: URLError?) {
        if case .over = state { return }
        settleMetrics()
        close()
        delegate.transferFinished(self, heads.end(error))
    }
}

extension UpgradeTransfer: ResponseBodyOwner {
    var mayDeliver: Bool { !isPaused && delegate.transferMayDeliver(self) }

    func received(_ bytes: UnsafeRawBufferPointer) throws(URLError) {
        heads.log.received(body: bytes.count)
        try delegate.transfer(self, received: bytes)
    }

    func bodyAdvanced() {
        noteActivity()
        delegate.transferSettled(self)
        updateReading()
    }

    func bodyEnded(_ error: URLError?) {
        if let error { fail(error) } else { finish(nil) }
    }
}

extension UpgradeTransfer: StreamConnectionOwner {
    /// Its transaction is the request that led to the stream.
    func streamSecured(_ session: TLSSession?) {}

    func streamFinished(_ error: URLError?) {
        state = .over
        sending.close()
        delegate.transferFinished(self, heads.end(error, isOfNetwork: false))
    }
}
