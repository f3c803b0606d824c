import CurlTransport
import Foundation

/// The connection of a stream task: made by libcurl as any request's would be, and then the port's to read from and to write to. Loop only.
///
/// This file holds the connection and its bytes, `StreamTransfer+TLS.swift` how TLS begins and ends.
final class StreamTransfer: Transfer {
    enum State {
        case ready(Order)
        case connecting(Channel)
        case open(Channel)
        case over
    }

    /// What stands between the channel and the port.
    enum Security {
        case none
        case handshake(TLSClient)
        /// The delegate is being asked. An answer names the object.
        case asking(TLSClient, Asking)
        case established(TLSClient)
        /// Our side has ended TLS, and waits for the other to do so.
        case ending(TLSClient)
    }

    /// A question of a handshake that waits for its answer.
    final class Asking: Sendable {
        let question: HandshakeQuestion

        init(_ question: HandshakeQuestion) {
            self.question = question
        }
    }

    /// What the connection is to be like.
    struct Order {
        let options: ChannelOptions
        let hooks: TransferHooks?
        let multi: Multi
        /// With whom TLS is spoken, if it is.
        let peer: TLSClient.Peer
        let origin: Origin
        /// How long a TLS handshake may take.
        let handshakeTimeout: Duration
        /// The way to the server; nil for a direct one.
        let proxy: CurlOptions.ProxyServer?
        /// Whether somebody wants metrics.
        let isMeasured: Bool
    }

    let request: URLRequest
    let port: StreamPort
    let loop: EventLoop
    private unowned let delegate: any TransferDelegate

    private(set) var state: State
    var security = Security.none
    private var tunnel = ProxyTunnel()
    /// How many bytes the channel has of the write that the port is at.
    private var sendingCount = 0
    /// All that was to be written is on its way: the connection's write side follows it.
    private var finishesWhenSent = false
    private(set) var hasReachedEnd = false
    /// What was decrypted while nobody could read: between the two ends of TLS.
    var leftover = Data()
    private var isServing = false
    private var handshakeDeadline: Deadline?
    private(set) var metrics: HopMetrics?
    private(set) var lastActivity: MonotonicTime?

    let source = HopMetrics.Source.network
    let peer: TLSClient.Peer
    let origin: Origin
    private let handshakeTimeout: Duration
    private let proxy: CurlOptions.ProxyServer?

    init(_ request: URLRequest, _ order: Order, port: StreamPort, loop: EventLoop, delegate: any TransferDelegate) {
        self.request = request
        self.port = port
        self.loop = loop
        self.delegate = delegate
        (peer, origin, handshakeTimeout) = (order.peer, order.origin, order.handshakeTimeout)
        state = .ready(order)
        proxy = order.proxy
        if order.isMeasured {
            metrics = HopMetrics(request)
            metrics?.isProxyConnection = order.proxy != nil
        }
    }

    // MARK: - Transfer

    func start() throws(URLError) {
        guard case .ready(let order) = state else { return }
        lastActivity = loop.now
        do throws(TransferFailure) {
            state = .connecting(try Channel(order.options, in: order.multi, hooks: order.hooks, delegate: self))
        } catch {
            throw URLError(error, of: order.hooks, url: request.url)
        }
    }

    var phase: TransferPhase {
        switch (state, security) {
        case (.open, .handshake), (.open, .asking): .securing
        case (.connecting(let channel), _), (.open(let channel), _): channel.phase
        case (.ready, _), (.over, _): .preparing
        }
    }

    func setPaused(_ isPaused: Bool) -> Bool {
        if lastActivity != nil { lastActivity = loop.now }
        port.setPaused(isPaused)
        return true
    }

    func cancel() {
        close()
    }

    private func close() {
        if let channel { settleMetrics(channel) }
        channel?.close()
        state = .over
        security = .none
        stopHandshakeClock()
    }

    var channel: Channel? {
        switch state {
        case .connecting(let channel), .open(let channel): channel
        case .ready, .over: nil
        }
    }

    private func settleMetrics(_ channel: Channel) {
        if metrics != nil { metrics?.statistics = channel.statistics }
    }

    /// The connection is lost, or couldn't be made.
    func fail(_ error: URLError) {
        if case .over = state { return }
        close()
        var ending = TransferEnding(error)
        ending.isOfNetwork = true
        delegate.transferFinished(self, ending)
    }

    func fail(_ failure: TransferFailure) {
        fail(URLError(failure, url: request.url))
    }

    // MARK: - Bytes

    /// Goes on with whatever can go on: in a loop, for one thing leads to another.
    private func serve() {
        guard !isServing else { return }
        isServing = true
        while moveOn() {}
        isServing = false
    }

    /// True where something has moved.
    private func moveOn() -> Bool {
        guard case .open(let channel) = state else { return false }
        let hasRead = decrypt()
        let hasWritten = write(to: channel)
        guard case .open = state else { return false }
        channel.setReading(wantsBytes)
        return hasRead || hasWritten
    }

    private var wantsBytes: Bool {
        switch security {
        case .none, .established: port.wantedCount > 0
        case .handshake, .ending: true
        case .asking: false
        }
    }

    /// Gives the port what it wants. True where something came of it.
    private func decrypt() -> Bool {
        guard case .established(let tls) = security, port.wantedCount > 0 else { return false }
        do throws(TransferFailure) {
            let (reading, bytes) = try read(tls, most: port.wantedCount)
            flush(tls)
            switch reading {
            case .bytes:
                port.received(bytes)
                return true
            case .closed:
                port.receivedEnd()
                return true
            case .needsInput where hasReachedEnd:
                throw TransferFailure(code: .recvError, text: Self.truncation, phase: .receiving)
            case .needsInput:
                return false
            }
        } catch {
            fail(error)
            return false
        }
    }

    private static let truncation = "The server closed the connection without ending TLS: something may be missing."

    /// Decrypted at once, in bytes: four records (RFC 8446 §5.1).
    private static let decryptedAtOnce = 64 * 1024

    func read(_ tls: TLSClient, most count: Int) throws(TransferFailure) -> (TLSClient.Reading, Data) {
        var data = Data(count: min(count, Self.decryptedAtOnce))
        var length = 0
        var reading = TLSClient.Reading.needsInput
        while length < data.count {
            reading = try data.withUnsafeMutableBytes { buffer in
                Result { () throws(TransferFailure) in
                    try tls.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer.dropFirst(length)))
                }
            }.get()
            guard case .bytes(let count) = reading, count > 0 else { break }
            length += count
        }
        if length > 0 { reading = .bytes(length) }
        return (reading, data.prefix(length))
    }

    /// How many bytes the channel gets at once: it copies them.
    private static let sentAtOnce = 128 * 1024

    private func write(to channel: Channel) -> Bool {
        guard sendingCount == 0, let data = port.unwritten else { return false }
        let piece = data.prefix(Self.sentAtOnce)
        sendingCount = piece.count
        switch security {
        case .established(let tls):
            do throws(TransferFailure) {
                try piece.withUnsafeBytes { bytes in
                    Result { () throws(TransferFailure) in try tls.write(bytes) }
                }.get()
            } catch {
                fail(error)
                return false
            }
            flush(tls)
        case .none, .handshake, .asking, .ending:
            piece.withUnsafeBytes { channel.send($0) }
            channel.flush()
        }
        return true
    }

    /// Sends what TLS has to say.
    func flush(_ tls: TLSClient) {
        guard case .open(let channel) = state else { return }
        let output = tls.takeOutput()
        guard !output.isEmpty else { return }
        output.withUnsafeBytes { channel.send($0) }
        channel.flush()
    }

    // MARK: - Time

    /// A handshake waits for the other side as long as a request would.
    func startHandshakeClock() {
        let deadline =
            handshakeDeadline
            ?? Deadline { [unowned self] in
                fail(URLError(.timedOut, request.url, "The TLS handshake took too long.").with(phase: .securing))
            }
        handshakeDeadline = deadline
        loop.schedule(deadline, at: loop.now + handshakeTimeout)
    }

    func stopHandshakeClock() {
        if let handshakeDeadline { loop.cancel(handshakeDeadline) }
    }
}

extension StreamTransfer: ChannelDelegate {
    /// Within libcurl.
    func channel(_ channel: Channel, receivedTunnelHeaderLine line: UnsafeRawBufferPointer) -> ReceiveVerdict {
        tunnel.consume(lines: line) ? .accepted : .abort
    }

    func channelOpened(_ channel: Channel) {
        state = .open(channel)
        lastActivity = nil
        settleMetrics(channel)
        // A stream lives long: others needn't wait for its end.
        delegate.transferLeftConnection(self)
        delegate.transferSettled(self)
        guard case .open = state else { return }
        port.open(over: self)
    }

    func channel(_ channel: Channel, received bytes: UnsafeRawBufferPointer) {
        switch security {
        case .none:
            port.received(Data(bytes))
        case .handshake(let tls), .asking(let tls, _), .established(let tls), .ending(let tls):
            do throws(TransferFailure) {
                try tls.receive(bytes)
            } catch {
                return fail(error)
            }
            goOnWithTLS()
        }
        serve()
    }

    func channelReachedEnd(_ channel: Channel) {
        hasReachedEnd = true
        switch security {
        case .none: port.receivedEnd()
        case .established: serve()
        case .handshake, .asking: fail(.init(code: .sslConnectError, text: Self.earlyEnd, phase: .securing))
        case .ending: endOfTLS()
        }
    }

    private static let earlyEnd = "The server closed the connection amid the TLS handshake."

    func channelSentAll(_ channel: Channel) {
        let count = sendingCount
        sendingCount = 0
        if count > 0 { port.wrote(count) }
        if finishesWhenSent, case .open = state, channel.unsentCount == 0 {
            finishesWhenSent = false
            channel.finishSending()
        }
        serve()
    }

    func channel(_ channel: Channel, failed failure: TransferFailure) {
        settleMetrics(channel)
        guard case .connecting = state, let refusal = tunnel.refusal, failure.code != .operationTimedOut else {
            return fail(failure)
        }
        state = .over
        var ending = TransferEnding(URLError(failure, url: request.url, refusal: refusal))
        (ending.isOfNetwork, ending.refusal) = (true, refusal)
        delegate.transferFinished(self, ending)
    }
}

extension StreamTransfer: StreamCarrier {
    func portChanged() {
        serve()
    }

    func closeWriting() {
        guard case .open(let channel) = state else { return }
        if case .established(let tls) = security {
            tls.close()
            finishesWhenSent = true
            return flush(tls)
        }
        channel.finishSending()
    }

    func begin(_ transition: StreamPort.Queue.Transition) {
        switch transition {
        case .startTLS: startTLS()
        case .stopTLS: stopTLS()
        case .capture: capture()
        }
    }

    func end() {
        guard case .open = state else { return }
        close()
        delegate.transferFinished(self, TransferEnding(port.failure))
    }

    private func capture() {
        guard case .open(let channel) = state, let owner = port.owner else { return }
        var tls: TLSClient?
        if case .established(let client) = security { tls = client }
        guard proxy?.scheme != .https, let socket = channel.descriptor,
            let connection = CapturedConnection(socket, tls, surplus: port.surplus)
        else {
            let description =
                "The connection can't be taken from libcurl: it goes to its proxy over TLS, or there are no descriptors left."
            return fail(URLError(.cannotLoadFromNetwork, request.url, description))
        }
        port.noteCapture()
        owner.tell(.captured(CapturedStreams(connection)))
        close()
        port.fail(.captured)
        delegate.transferFinished(self, TransferEnding())
    }
}
