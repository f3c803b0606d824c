import CCurlNetworkingLibcurl
import CCurlNetworkingLinux
import Glibc

/// Sends and receives on a channel. Everything is called on the channel's loop and, unless a method says otherwise, outside of libcurl.
package protocol ChannelDelegate: AnyObject {
    /// One line of an HTTP proxy's response to the request for a tunnel. Within libcurl.
    func channel(_ channel: Channel, receivedTunnelHeaderLine line: UnsafeRawBufferPointer) -> ReceiveVerdict

    /// Called when the connection is established, including TLS. Nothing is read before `Channel.setReading(true)`.
    func channelOpened(_ channel: Channel)

    /// Called before each read.
    func channelReading(_ channel: Channel) -> ChannelReading

    /// Whether bytes that have arrived are still read once sending has failed, even with reading off: some 1 MiB at most, and then the
    /// channel fails.
    var takesLastWords: Bool { get }

    /// The next received bytes; at least one. They are valid until this returns, unless the delegate supplied the memory.
    func channel(_ channel: Channel, received bytes: UnsafeRawBufferPointer)

    /// The other side will send no more. Bytes can still be sent.
    func channelReachedEnd(_ channel: Channel)

    /// Called when the system has taken all bytes to be sent, also from within `Channel.flush()`.
    func channelSentAll(_ channel: Channel)

    /// Called when the connection failed, or couldn't be established. The last call.
    func channel(_ channel: Channel, failed failure: TransferFailure)
}

extension ChannelDelegate {
    package func channel(_ channel: Channel, receivedTunnelHeaderLine line: UnsafeRawBufferPointer) -> ReceiveVerdict {
        .accepted
    }

    package func channelReading(_ channel: Channel) -> ChannelReading { .upTo(.max) }

    package var takesLastWords: Bool { false }
}

/// How a channel's delegate wants the next bytes read.
package enum ChannelReading {
    /// No more than this many bytes at once.
    case upTo(Int)
    /// Into the delegate's memory, which must stay in place until the bytes have been passed on.
    case into(UnsafeMutableRawBufferPointer)
}

/// A connection that libcurl establishes, with proxies and TLS as for any request, and on which we speak the protocol ourselves.
/// https://curl.se/libcurl/c/CURLOPT_CONNECT_ONLY.html
///
/// The easy handle stays in its multi while the channel is open: when the handle leaves, libcurl closes the connection.
///
/// Loop only. The multi retains it until it has failed or `close()` is called; it doesn't retain its delegate.
package final class Channel: TransferHandler {
    private enum State {
        case connecting(EasyHandle)
        /// `shared` is nil if only libcurl can use the socket.
        case open(EasyHandle, socket: Int32, shared: PlainSocket?)
        /// Closed by its owner, or not begun.
        case closed
        /// The connection couldn't be established, or was lost.
        case failed(TransferStatistics)
    }

    private enum Sending {
        /// Nothing is waiting, and the delegate has been told.
        case idle
        /// Bytes are waiting, or the delegate has yet to be told that none are.
        case pending
        /// The same; libcurl took only part of what is waiting.
        case blocked
        /// Nothing more can be sent. Bytes that have arrived can still be read: `lastWords` of them, although reading was off.
        case failed(TransferFailure, lastWords: Int)
    }

    private enum Input {
        case delivered
        /// When the other side closes the connection, it may have missed this many of the last bytes sent, counting FIN as one.
        case discarded(expendable: Int)
        case ended
    }

    private let multi: Multi
    /// The channel's current user.
    package weak var delegate: (any ChannelDelegate)?
    private let tracer: TransferTracer?
    private let isPlain: Bool
    private var state = State.closed

    private var output = ChannelOutput()
    private var sending = Sending.idle

    private var isReading = false
    private var input = Input.delivered
    /// nil without TLS.
    private var closure: TLSClosure?
    /// The result of the read that followed connecting, before the delegate wanted any bytes.
    private var early: Received?
    /// Schedules a round in which bytes are read.
    private lazy var readSoon = Deadline { [weak self] in self?.read() }
    /// Schedules a round in which the delegate may send more.
    private lazy var flushSoon = Deadline { [weak self] in self?.flush() }

    private var isServing = false
    private var isFlushing = false

    private enum Received {
        case bytes([UInt8])
        case count(Int)
        case nothing
        case end
        case failure(TransferFailure)
    }

    /// Starts to connect. If this throws, nothing was started.
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
        state = .connecting(try multi.start(options, handler: self, hooks: hooks))
    }

    /// nil once the channel is closed or has failed.
    private var easy: EasyHandle? {
        switch state {
        case .connecting(let easy), .open(let easy, _, _): easy
        case .closed, .failed: nil
        }
    }

    package var loop: EventLoop { multi.loop }

    /// Whether bytes can be sent and received.
    package var isOpen: Bool {
        if case .open = state { easy?.multi != nil } else { false }
    }

    /// The connection's socket; nil unless the channel is open.
    package var descriptor: Int32? {
        if case .open(_, let socket, _) = state { socket } else { nil }
    }

    private var plainSocket: PlainSocket? {
        if case .open(_, _, let socket) = state { socket } else { nil }
    }

    /// For sending from any thread while no output is queued; nil if only libcurl can use the socket.
    package var sendingSocket: PlainSocket? {
        if case .idle = sending, isOpen { plainSocket } else { nil }
    }

    /// For receiving from any thread, while the channel isn't reading and holds no bytes to be delivered first. Otherwise like
    /// `sendingSocket`.
    package var receivingSocket: PlainSocket? {
        guard isOpen, !isReading, !hasReachedEnd, sendFailure == nil, early == nil else { return nil }
        return plainSocket
    }

    /// Returns the bytes read on connecting that haven't been reported, for the next owner. Throws if that read failed.
    package func takeEarly() throws(TransferFailure) -> [UInt8] {
        switch early.take() {
        case .bytes(let bytes): return bytes
        case .failure(let failure): throw failure
        // The system reports the end again.
        case .count, .nothing, .end, nil: return []
        }
    }

    /// libcurl's measurements of the connection; nil once its owner has closed it.
    package var statistics: TransferStatistics? {
        if case .failed(let statistics) = state { statistics } else { easy?.info.statistics }
    }
    package var tlsSession: TLSSession? { easy?.info.tlsSession }
    /// Whether its user is to decode a response's body; see `EasyHandle`.
    package var decodesContent: Bool { easy?.decodesContent ?? true }
    package var phase: TransferPhase {
        switch state {
        case .connecting: easy?.phase ?? .preparing
        case .open, .closed, .failed: .receiving
        }
    }

    /// Adds bytes that libcurl doesn't see to the program's trace.
    package func trace(_ kind: TransferTracer.Kind, _ bytes: UnsafeRawBufferPointer) {
        if !bytes.isEmpty { tracer?.record(kind, bytes) }
    }

    /// Closes the connection. Nothing is reported after this.
    package func close() {
        end(.closed)
    }

    private func end(_ end: State) {
        guard let easy else { return }
        state = end
        output.removeAll()
        early = nil
        loop.cancel(readSoon)
        loop.cancel(flushSoon)
        multi.cancel(easy)
    }

    private func fail(_ failure: TransferFailure) {
        guard let easy else { return }
        end(.failed(easy.info.statistics))
        delegate?.channel(self, failed: failure)
    }

    // MARK: - Sending

    /// How many bytes the system has taken.
    package private(set) var sentCount = 0
    /// How many bytes are waiting to be sent.
    package var unsentCount: Int { output.count }

    /// Adds `count` bytes, filled in by `write`, to those that are to be sent with `flush()`.
    package func send(count: Int, _ write: (UnsafeMutableRawBufferPointer) -> Void) {
        guard isOpen, sendFailure == nil else { return }
        output.append(count: count, write)
        if case .idle = sending { sending = .pending }
    }

    package func send(_ bytes: UnsafeRawBufferPointer) {
        send(count: bytes.count) { $0.copyMemory(from: bytes) }
    }

    /// How many times the delegate may send more in one turn; other channels are waiting, too.
    private static let maximumRefills = 16

    /// Sends as many of the waiting bytes as the system takes. The rest follows when there is room.
    package func flush() {
        guard !isFlushing else { return }
        isFlushing = true
        var refills = 0
        while sendWaiting(), case .pending = sending {
            guard refills < Self.maximumRefills else {
                loop.schedule(flushSoon, at: loop.now)
                break
            }
            refills += 1
            sending = .idle
            delegate?.channelSentAll(self)
        }
        isFlushing = false
        updateInterest()
    }

    /// True if nothing is left.
    private func sendWaiting() -> Bool {
        while isOpen, sendFailure == nil, let easy {
            let bytes = output.next()
            guard !bytes.isEmpty else {
                if case .blocked = sending { sending = .pending }
                return true
            }
            var sent = 0
            let code = loop.calls.within { curl_easy_send(easy.handle, bytes.baseAddress, bytes.count, &sent) }
            switch code {
            case CURLE_OK:
                output.sent(sent)
                sentCount &+= sent
            case CURLE_AGAIN:
                sending = .blocked
                return false
            default:
                sending = .failed(failure(code, of: easy), lastWords: 0)
                output.removeAll()
                // Otherwise another thread might take some of the remaining input.
                plainSocket?.withdraw()
                // The other side may have said why before it closed the connection.
                loop.schedule(readSoon, at: loop.now)
            }
        }
        return false
    }

    /// Drops the bytes waiting to be sent. Nothing may be sent after this: the other side may have received only part of them.
    package func stopSending() {
        output.removeAll()
        if sendFailure == nil { sending = .idle }
        updateInterest()
    }

    /// Sends FIN once everything is sent; bytes can still be received. Over TLS the other side takes this for a truncation. Only with
    /// nothing left to send.
    package func finishSending() {
        guard let descriptor, isOpen else { return }
        shutdown(descriptor, Int32(SHUT_WR))
    }

    /// How many bytes the other side's system has yet to acknowledge, counting unsent ones, and FIN if it was sent.
    package var unacknowledgedCount: Int {
        var count: Int32 = 0
        guard let descriptor, ioctl(descriptor, UInt(TIOCOUTQ), &count) == 0 else { return unsentCount }
        return unsentCount + Int(count)
    }

    /// How many bytes the other side's system has acknowledged. Only a change counts over TLS, which adds some, and after others have sent
    /// on `sendingSocket`.
    package var acknowledgedCount: Int { sentCount &- (unacknowledgedCount - unsentCount) }

    // MARK: - Receiving

    /// Turns reading on or off, from the next round on. While it is off, nothing is read from the connection, however much arrives.
    package func setReading(_ isReading: Bool) {
        guard isReading != self.isReading else { return }
        self.isReading = isReading
        guard isOpen else { return }
        // TLS may hold bytes without making the socket readable.
        if isReading, !isServing, !hasReachedEnd { loop.schedule(readSoon, at: loop.now) }
        if !isServing { updateInterest() }
    }

    /// Reads and drops all further input, without TLS; only its end is reported. A reset counts as the end if the other side's system has
    /// acknowledged everything: a program needn't read it all before closing the connection.
    /// - Parameter expendable: How many of the last bytes sent, counting FIN, the other side's program has no use for.
    package func discardInput(expendable: Int = 0) {
        if !hasReachedEnd { input = .discarded(expendable: expendable) }
        if case .bytes = early { early = nil }
        setReading(true)
    }

    /// In bytes.
    private static let maximumLastWords = 1 << 20
    /// The most reads in one turn; other channels are waiting, too.
    private static let maximumReads = 16

    /// Reads until there is nothing left.
    private func read() {
        guard !isServing, isOpen else { return }
        loop.cancel(readSoon)
        isServing = true
        var reads = 0
        while isReading || readsLastWords, !hasReachedEnd, isOpen {
            guard reads < Self.maximumReads else {
                loop.schedule(readSoon, at: loop.now)
                break
            }
            reads += 1
            guard readOnce() else { break }
        }
        isServing = false
        // Nothing more will be read that could say why.
        if let sendFailure, isOpen, !(isReading || readsLastWords) || hasReachedEnd { return fail(sendFailure) }
        updateInterest()
    }

    private var readsLastWords: Bool {
        guard case .failed(_, let lastWords) = sending else { return false }
        return lastWords < Self.maximumLastWords && delegate?.takesLastWords == true
    }

    private var sendFailure: TransferFailure? { if case .failed(let failure, _) = sending { failure } else { nil } }

    private var hasReachedEnd: Bool { if case .ended = input { true } else { false } }

    /// Whether TLS hasn't announced the end that was reached: something may be missing.
    package var isTruncated: Bool { hasReachedEnd && closure?.wasAnnounced == false }

    /// False if there is nothing to read at the moment.
    private func readOnce() -> Bool {
        let buffer = nextBuffer
        switch early.take() ?? receive(into: buffer) {
        case .bytes(let bytes):
            bytes.withUnsafeBytes { delegate?.channel(self, received: $0) }
            return true
        case .count(let count):
            if !isReading, case .failed(let failure, let lastWords) = sending {
                sending = .failed(failure, lastWords: lastWords + count)
            }
            let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
            if case .delivered = input { delegate?.channel(self, received: bytes) }
            // TLS may hold bytes without making the socket readable.
            return !isPlain || count == buffer.count || sendFailure != nil
        case .nothing:
            if let sendFailure { fail(sendFailure) }
            return false
        case .end:
            input = .ended
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
        if case .discarded(let expendable) = input { return discard(through: buffer, of: easy, butFor: expendable) }
        var count = 0
        let code = loop.calls.within { curl_easy_recv(easy.handle, buffer.baseAddress, buffer.count, &count) }
        switch code {
        case CURLE_OK where count > 0: return .count(min(count, buffer.count))
        case CURLE_OK where plainSocket?.hasFailed == true: return .failure(failure(CURLE_RECV_ERROR, of: easy))
        case CURLE_OK: return .end
        case CURLE_AGAIN: return .nothing
        default: return .failure(failure(code, of: easy))
        }
    }

    private func discard(
        through buffer: UnsafeMutableRawBufferPointer,
        of easy: EasyHandle,
        butFor expendable: Int
    ) -> Received {
        guard let descriptor else { return .nothing }
        // libcurl's sockets never block.
        let count = uninterrupted { recv(descriptor, buffer.baseAddress, buffer.count, 0) }
        let error = count < 0 ? errno : 0
        if count > 0 { return .count(count) }
        if error == EAGAIN { return .nothing }
        if error == ECONNRESET, unacknowledgedCount <= expendable { return .end }
        if count == 0, plainSocket?.hasFailed != true { return .end }
        return .failure(failure(CURLE_RECV_ERROR, of: easy))
    }

    private func failure(_ code: CURLcode, of easy: EasyHandle) -> TransferFailure {
        var failure = TransferFailure(TransferResult(code: code), of: easy)
        failure.phase = code == CURLE_SEND_ERROR ? .sending : .receiving
        return failure
    }

    // MARK: - Calls from the multi

    func becameReady(_ readiness: UInt32) {
        let (input, output) = (EPOLLIN.rawValue, EPOLLOUT.rawValue)
        let trouble = EPOLLHUP.rawValue | EPOLLERR.rawValue
        if case .blocked = sending, !isPlain || readiness & (output | trouble) != 0 { flush() }
        if isReading, readiness & (input | trouble) != 0 { read() }
    }

    private func updateInterest() {
        guard let descriptor, isOpen else { return }
        var interest: SocketInterest = []
        if isReading, !hasReachedEnd { interest.insert(.read) }
        // TLS renegotiation has to receive before it can send: with edge triggering, a socket that has room throughout is reported only
        // once.
        if case .blocked = sending { interest.formUnion(isPlain ? .write : [.read, .write, .edge]) }
        if interest.isEmpty { loop.unwatch(descriptor) } else { multi.sockets.watch(descriptor, for: interest) }
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

    /// The multi has removed the handle: the connection couldn't be established, or libcurl ran out of memory.
    package func transferFinished(_ failure: TransferFailure?) {
        fail(failure ?? TransferFailure(code: .couldntConnect, text: CurlCode.couldntConnect.text))
    }

    /// Takes over the connection that libcurl has established.
    func opened(_ socket: Int32) {
        guard case .connecting(let easy) = state else { return }
        state = .open(easy, socket: socket, shared: isPlain ? easy.connections?.plainSocket(socket) : nil)
        claimConnection()
        delegate?.channelOpened(self)
        updateInterest()
    }

    /// To libcurl, a connection is in use only from the first call on it; before that, libcurl may close it to make room.
    private func claimConnection() {
        let buffer = loop.channelBuffer
        switch receive(into: buffer) {
        case .count(let count): early = .bytes(Array(UnsafeRawBufferPointer(rebasing: buffer[..<count])))
        case .bytes, .nothing: break
        case .end: early = .end
        case .failure(let failure): early = .failure(failure)
        }
        if !isPlain { closure = easy.flatMap(TLSClosure.watch) }
    }
}
