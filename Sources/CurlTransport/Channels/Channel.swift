import CCurlNetworkingLibcurl
import CCurlNetworkingLinux
import Glibc

/// Who speaks on a channel. Everything is called on the channel's loop and, but for what says otherwise, outside of libcurl.
package protocol ChannelDelegate: AnyObject {
    /// One line of an HTTP proxy's answer to the request for a tunnel. Within libcurl.
    func channel(_ channel: Channel, receivedTunnelHeaderLine line: UnsafeRawBufferPointer) -> ReceiveVerdict

    /// The connection is up, TLS included. Nothing is read before `Channel.setReading(true)`.
    func channelOpened(_ channel: Channel)

    /// Asked before anything is read.
    func channelReading(_ channel: Channel) -> ChannelReading

    /// The next bytes that have come; at least one. They are gone when this returns, unless the delegate has said where they go.
    func channel(_ channel: Channel, received bytes: UnsafeRawBufferPointer)

    /// The other side will send no more. Bytes can still be sent.
    func channelReachedEnd(_ channel: Channel)

    /// All that was to be sent is with the system. Also within `Channel.flush()`.
    func channelSentAll(_ channel: Channel)

    /// The connection could not be made, or is lost. The last call.
    func channel(_ channel: Channel, failed failure: TransferFailure)
}

extension ChannelDelegate {
    package func channel(_ channel: Channel, receivedTunnelHeaderLine line: UnsafeRawBufferPointer) -> ReceiveVerdict {
        .accepted
    }

    package func channelReading(_ channel: Channel) -> ChannelReading { .upTo(.max) }
}

/// How a channel's delegate wants the next bytes read.
package enum ChannelReading {
    /// No more than so many at once.
    case upTo(Int)
    /// To memory of the delegate's, which stays where it is until they have been passed on.
    case into(UnsafeMutableRawBufferPointer)
}

/// A connection that libcurl makes, through proxies and TLS as for any request, and that we speak on ourselves.
/// https://curl.se/libcurl/c/CURLOPT_CONNECT_ONLY.html
///
/// The easy handle stays in its multi as long as the channel is open: libcurl closes the connection when it leaves.
///
/// Loop only. The multi keeps it until it has failed or `close()` is called; it doesn't keep its delegate.
package final class Channel: TransferHandler {
    private enum State {
        case connecting
        /// `shared` is nil where only libcurl can use the socket.
        case open(socket: Int32, shared: PlainSocket?)
        /// Closed by its owner, or lost.
        case closed
    }

    private let multi: Multi
    /// Whoever speaks on it now.
    package weak var delegate: (any ChannelDelegate)?
    private let tracer: TransferTracer?
    private let isPlain: Bool
    private var easy: EasyHandle?
    private var state = State.connecting

    private var output = ChannelOutput()
    /// libcurl has taken less than there was to be sent.
    private var isBlocked = false
    /// The delegate has yet to hear that all of `output` is sent.
    private var owesSentAll = false
    /// Why nothing more can be sent; what has come can still be read.
    private var sendFailure: TransferFailure?

    private var isReading = false
    private var hasReachedEnd = false
    /// What was read when the connection came up, and the delegate didn't want anything yet.
    private var early: Received?
    /// Has bytes read in a round of their own.
    private var readSoon: Deadline?

    private var isServing = false
    private var isFlushing = false

    private enum Received {
        case bytes([UInt8])
        case count(Int)
        case nothing
        case end
        case failure(TransferFailure)
    }

    /// Begins to make the connection. When it throws, nothing has begun.
    package init(
        _ options: ChannelOptions,
        in multi: Multi,
        hooks: TransferHooks? = nil,
        delegate: any ChannelDelegate
    ) throws(TransferFailure) {
        self.multi = multi
        self.delegate = delegate
        tracer = hooks?.tracer
        isPlain = options.isPlain
        readSoon = Deadline { [weak self] in self?.read() }
        easy = try multi.start(options, handler: self, hooks: hooks)
    }

    private var loop: EventLoop { multi.loop }

    /// Whether bytes can be sent and received.
    package var isOpen: Bool {
        if case .open = state { easy?.multi != nil } else { false }
    }

    /// The connection's socket; nil unless the channel is open.
    package var descriptor: Int32? {
        if case .open(let socket, _) = state { socket } else { nil }
    }

    private var plainSocket: PlainSocket? {
        if case .open(_, let socket) = state { socket } else { nil }
    }

    /// For sending from any thread, while there is nothing that would have to go first; nil for a channel whose socket only libcurl can use.
    package var sendingSocket: PlainSocket? {
        isOpen && output.isEmpty && sendFailure == nil ? plainSocket : nil
    }

    /// For receiving from any thread, while the channel doesn't read and has read nothing that would have to come first. As with sending.
    package var receivingSocket: PlainSocket? {
        guard isOpen, !isReading, !hasReachedEnd, sendFailure == nil, early == nil else { return nil }
        return plainSocket
    }

    /// What came with the connection and has been reported to nobody, for whoever takes the connection over. Throws where that is an error.
    package func takeEarly() throws(TransferFailure) -> [UInt8] {
        switch early.take() {
        case .bytes(let bytes): return bytes
        case .failure(let failure): throw failure
        // The system tells of the end again.
        case .count, .nothing, .end, nil: return []
        }
    }

    /// What libcurl knows of the connection; nil once the channel is closed.
    package var statistics: TransferStatistics? { easy?.statistics }
    package var tlsSession: TLSSession? { easy?.tlsSession }
    package var phase: TransferPhase {
        switch state {
        case .connecting: easy?.phase ?? .preparing
        case .open, .closed: .receiving
        }
    }

    /// Has the program's trace show what libcurl knows nothing of.
    package func trace(_ kind: TransferTracer.Kind, _ bytes: UnsafeRawBufferPointer) {
        if !bytes.isEmpty { tracer?.record(kind, bytes) }
    }

    /// Closes the connection. Nothing is reported any more.
    package func close() {
        guard let easy = easy.take() else { return }
        state = .closed
        output.removeAll()
        early = nil
        if let readSoon { loop.cancel(readSoon) }
        multi.cancel(easy)
    }

    private func fail(_ failure: TransferFailure) {
        guard easy != nil else { return }
        close()
        delegate?.channel(self, failed: failure)
    }

    // MARK: - Sending

    /// How many bytes the system has taken.
    package private(set) var sentCount = 0
    /// How many bytes wait to be sent.
    package var unsentCount: Int { output.count }

    /// Adds so many bytes, which `write` fills in, to those that are to be sent. They go with `flush()`.
    package func send(count: Int, _ write: (UnsafeMutableRawBufferPointer) -> Void) {
        guard isOpen, sendFailure == nil else { return }
        output.append(count: count, write)
        owesSentAll = true
    }

    package func send(_ bytes: UnsafeRawBufferPointer) {
        send(count: bytes.count) { $0.copyMemory(from: bytes) }
    }

    /// Sends what waits, as far as the system takes it. The rest follows when there is room.
    package func flush() {
        guard !isFlushing else { return }
        isFlushing = true
        while sendWaiting(), owesSentAll {
            owesSentAll = false
            delegate?.channelSentAll(self)
        }
        isFlushing = false
        updateInterest()
    }

    /// True where nothing is left.
    private func sendWaiting() -> Bool {
        while isOpen, sendFailure == nil, let easy {
            let bytes = output.next()
            guard !bytes.isEmpty else {
                isBlocked = false
                return true
            }
            var sent = 0
            let code = curl_easy_send(easy.handle, bytes.baseAddress, bytes.count, &sent)
            switch code {
            case CURLE_OK:
                output.sent(sent)
                sentCount &+= sent
            case CURLE_AGAIN:
                isBlocked = true
                return false
            default:
                isBlocked = false
                sendFailure = failure(code, of: easy)
                output.removeAll()
                // Perhaps the other side has said why before it hung up.
                if let readSoon { loop.schedule(readSoon, at: loop.now) }
            }
        }
        return false
    }

    /// Sends FIN once all is sent; bytes can still be received. Over TLS the other side takes it for a truncation. Only with nothing left to
    /// send.
    package func finishSending() {
        guard case .open(let socket, _) = state, isOpen else { return }
        shutdown(socket, Int32(SHUT_WR))
    }

    // MARK: - Receiving

    /// Whether bytes are read, in a round of their own at the earliest. Turned off, none is read from the connection, however many come.
    package func setReading(_ isReading: Bool) {
        guard isReading != self.isReading else { return }
        self.isReading = isReading
        guard isOpen else { return }
        // TLS may hold bytes that no readiness tells of.
        if isReading, !isServing, let readSoon, !hasReachedEnd { loop.schedule(readSoon, at: loop.now) }
        if !isServing { updateInterest() }
    }

    /// One turn reads no more than so often: others wait, too.
    private static let mostReads = 16

    /// Reads until there is nothing left.
    private func read() {
        guard !isServing, isOpen else { return }
        if let sendFailure, !isReading || hasReachedEnd { return fail(sendFailure) }
        isServing = true
        var reads = 0
        while isReading, !hasReachedEnd, isOpen {
            guard reads < Self.mostReads else {
                if let readSoon { loop.schedule(readSoon, at: loop.now) }
                break
            }
            reads += 1
            guard readOnce() else { break }
        }
        isServing = false
        updateInterest()
    }

    /// False where there is nothing to be read now.
    private func readOnce() -> Bool {
        let buffer = nextBuffer
        switch early.take() ?? receive(into: buffer) {
        case .bytes(let bytes):
            bytes.withUnsafeBytes { delegate?.channel(self, received: $0) }
            return true
        case .count(let count):
            delegate?.channel(self, received: UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            // TLS may hold bytes that no readiness tells of.
            return !isPlain || count == buffer.count || sendFailure != nil
        case .nothing:
            if let sendFailure { fail(sendFailure) }
            return false
        case .end:
            hasReachedEnd = true
            if let sendFailure { fail(sendFailure) } else { delegate?.channelReachedEnd(self) }
            return false
        case .failure(let failure):
            fail(sendFailure ?? failure)
            return false
        }
    }

    private var nextBuffer: UnsafeMutableRawBufferPointer {
        switch delegate?.channelReading(self) ?? .upTo(.max) {
        case .upTo(let count): UnsafeMutableRawBufferPointer(rebasing: loop.channelBuffer.prefix(count))
        case .into(let buffer): buffer
        }
    }

    private func receive(into buffer: UnsafeMutableRawBufferPointer) -> Received {
        guard let easy, easy.multi != nil else { return .nothing }
        var count = 0
        let code = curl_easy_recv(easy.handle, buffer.baseAddress, buffer.count, &count)
        switch code {
        case CURLE_OK where count > 0: return .count(min(count, buffer.count))
        case CURLE_OK where plainSocket?.hasFailed == true: return .failure(failure(CURLE_RECV_ERROR, of: easy))
        case CURLE_OK: return .end
        case CURLE_AGAIN: return .nothing
        default: return .failure(failure(code, of: easy))
        }
    }

    private func failure(_ code: CURLcode, of easy: EasyHandle) -> TransferFailure {
        var failure = easy.failure(code)
        failure.phase = code == CURLE_SEND_ERROR ? .sending : .receiving
        return failure
    }

    // MARK: - What the multi brings

    /// The socket is ready.
    func becameReady(_ readiness: UInt32) {
        let (input, output) = (EPOLLIN.rawValue, EPOLLOUT.rawValue)
        let trouble = EPOLLHUP.rawValue | EPOLLERR.rawValue
        if isBlocked, readiness & (output | trouble) != 0 { flush() }
        if isReading, readiness & (input | trouble) != 0 { read() }
    }

    private func updateInterest() {
        guard case .open(let socket, _) = state, isOpen else { return }
        var interest: SocketInterest = []
        if isReading, !hasReachedEnd { interest.insert(.read) }
        if isBlocked { interest.insert(.write) }
        if interest.isEmpty { loop.unwatch(socket) } else { multi.watch(socket, for: interest) }
    }

    // MARK: - TransferHandler: the connection is being made

    package func transferReceived(headerLine: UnsafeRawBufferPointer) -> ReceiveVerdict { .accepted }

    package func transferReceived(tunnelHeaderLine: UnsafeRawBufferPointer) -> ReceiveVerdict {
        delegate?.channel(self, receivedTunnelHeaderLine: tunnelHeaderLine) ?? .abort
    }

    package func transferReceived(body: UnsafeRawBufferPointer) -> ReceiveVerdict { .accepted }
    package func transferNeedsBody(into buffer: UnsafeMutableRawBufferPointer) -> SendVerdict { .bytes(0) }
    package func transferRewindsBody(to offset: Int64) -> Bool { false }
    package func transferSettled() {}

    /// The multi has taken the handle out: the connection couldn't be made.
    package func transferFinished(_ failure: TransferFailure?) {
        guard easy.take() != nil else { return }
        state = .closed
        let failure = failure ?? TransferFailure(code: .couldntConnect, text: CurlCode.couldntConnect.text)
        delegate?.channel(self, failed: failure)
    }

    /// libcurl has made the connection, and leaves it to us.
    func opened(_ socket: Int32) {
        guard easy != nil, case .connecting = state else { return }
        state = .open(socket: socket, shared: isPlain ? easy?.connections?.plainSocket(socket) : nil)
        claimConnection()
        delegate?.channelOpened(self)
        updateInterest()
    }

    /// libcurl counts a connection as used from the first call on; until then, it may close it to make room.
    private func claimConnection() {
        let buffer = loop.channelBuffer
        switch receive(into: buffer) {
        case .count(let count): early = .bytes(Array(UnsafeRawBufferPointer(rebasing: buffer[..<count])))
        case .bytes, .nothing: break
        case .end: early = .end
        case .failure(let failure): early = .failure(failure)
        }
    }
}
