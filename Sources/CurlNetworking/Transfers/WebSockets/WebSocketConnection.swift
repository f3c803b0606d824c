import CurlTransport
import Foundation

/// The owner of a web socket's connection. Loop only.
protocol WebSocketConnectionOwner: AnyObject {
    /// Called when the connection is over, and the channel is closed. The last call.
    func webSocketFinished(_ ending: WebSocketCloseHandshake.Ending, _ failure: TransferFailure?)
}

/// The connection of an open web socket: speaks the protocol over its channel on behalf of the program. Loop only.
final class WebSocketConnection {
    private let channel: Channel
    private let exchange: WebSocketExchange
    private unowned let owner: any WebSocketConnectionOwner
    private let loop: EventLoop

    // Receiving. Each message accesses these several times: leaving them unchecked saves 4 % of an echo's instructions.
    @exclusivity(unchecked) private var assembler: WebSocketAssembler
    /// Received bytes that can't be parsed before the program has taken some messages.
    @exclusivity(unchecked) private var rest: [UInt8] = []

    // Sending
    private var encoder: WebSocketEncoder
    /// The payload of the server's last ping, if that hasn't been answered yet.
    private var pong: [UInt8]?
    private var pongs = AwaitedPongs<WebSocketExchange.Waiter<Void>>()
    /// The senders of messages that have been encoded completely, but not yet taken completely by the system.
    private var underWay: [WebSocketExchange.Waiter<Void>] = []
    /// The sender of the partly encoded message.
    private var current: WebSocketExchange.Waiter<Void>?
    private var isPumping = false
    /// Whether the loop gives it a turn in a later round.
    private var hasTurn = false
    /// Sends on the callers' threads while this connection has nothing to send; nil if only the loop can send.
    private let sender: WebSocketSender?
    /// Whether the line is lent: other threads may use `sender`.
    private var isLent = false

    // The end
    private var closeHandshake: WebSocketCloseHandshake
    private var closeDeadline: Deadline?
    /// How much the server had acknowledged when the deadline was set.
    private var acknowledgedBeforeWait = 0
    /// How much it has acknowledged once it has our close frame; nil before that is sent.
    private var countWithClosing: Int?
    private var failure: TransferFailure?

    /// The most bytes that wait for the system, in addition to one frame.
    private static let maximumUnsent = 64 * 1024
    /// The most bytes that are inflated in one step: the output may be a thousand times as large (RFC 1951 allows 1,032).
    private static let inflatedAtOnce = 512
    /// How much longer it takes to compress than to decompress.
    private static let compressionCost = 4

    /// - Parameter bytes: Bytes that arrived after the handshake.
    init(
        _ channel: Channel,
        _ exchange: WebSocketExchange,
        compression: WebSocketCompression?,
        after bytes: [UInt8],
        closeTimeout: Duration,
        loop: EventLoop,
        owner: any WebSocketConnectionOwner
    ) {
        self.channel = channel
        self.exchange = exchange
        self.owner = owner
        self.loop = loop
        closeHandshake = WebSocketCloseHandshake(closeTimeout: closeTimeout, disconnectTimeout: .seconds(1))
        rest = bytes
        let inflater = compression.flatMap {
            MessageInflater(windowBits: $0.serverWindowBits, forgets: $0.serverForgets)
        }
        assembler = WebSocketAssembler(maximumMessageSize: exchange.maximumMessageSize, inflater: inflater)
        let compressor = compression.map(WebSocketCompressor.init)
        encoder = WebSocketEncoder(compressor)
        sender = channel.sendingSocket.map { WebSocketSender($0, compressor) }
    }

    private func atEndOfRound(_ delivery: @escaping WebSocketExchange.Delivery) {
        loop.atEndOfRound(delivery)
    }

    // MARK: - Calls from the owner

    /// Called when the web socket is open, and its exchange has been told; and when the program wants something, or has taken messages.
    func proceed() {
        readRest()
        pump()
    }

    /// Sends a close frame if that is possible without waiting, and closes the connection.
    func cancel() {
        handle(.cancelled)
        stop()
    }

    private func stop() {
        if let closeDeadline { loop.cancel(closeDeadline) }
        closeDeadline = nil
        takeLine()
        channel.close()
        exchange.giveBack(underWay + (current.map { [$0] } ?? []) + pongs.removeAll())
        (underWay, current) = ([], nil)
    }

    // MARK: - Receiving

    var nextReading: ChannelReading { rest.isEmpty ? assembler.nextReading : .upTo(.max) }

    func received(_ bytes: UnsafeRawBufferPointer) {
        guard rest.isEmpty else { return rest.append(contentsOf: bytes) }
        let left = take(bytes)
        if left > 0 { rest = Array(bytes.suffix(left)) }
        updateReading()
        if !isLent { pump() }
    }

    private func readRest() {
        takeRest(isLast: false)
        updateReading()
    }

    private func takeRest(isLast: Bool) {
        guard !rest.isEmpty, !closeHandshake.isReceiving || !hasEnough(isLast: isLast) else { return }
        let bytes = rest
        rest = []
        let left = bytes.withUnsafeBytes { take($0, isLast: isLast) }
        if left > 0 { rest = Array(bytes.suffix(left)) }
    }

    /// - Parameter isLast: Whether nothing more will arrive.
    private func hasEnough(isLast: Bool) -> Bool { isLast ? exchange.isOverfull : exchange.isFull }

    /// Reads frames until the program has enough, or this round has no time left for them. Returns how many bytes are left.
    private func take(_ bytes: UnsafeRawBufferPointer, isLast: Bool = false) -> Int {
        var input = bytes
        let intake = exchange.intake
        assembler.maximumMessageSize = intake.maximumMessageSize
        var hasEnough = isLast ? intake.isOverfull : intake.isFull
        do throws(WebSocketViolation) {
            while closeHandshake.isReceiving {
                guard !hasEnough, hasTime() else { return input.count }
                if let event = try nextEvent(in: &input) {
                    act(on: event)
                    hasEnough = self.hasEnough(isLast: isLast)
                } else if input.isEmpty {
                    return 0
                }
            }
            // After our close frame messages no longer count (§5.5.1), and after the server's nothing does.
            assembler.skipMessages()
            while closeHandshake.answersPings {
                guard hasTime() else { return input.count }
                guard let event = try nextEvent(in: &input) else { break }
                act(on: event)
            }
        } catch {
            handle(.violation(error))
        }
        return 0
    }

    /// The next event, if one step's input completes it.
    private func nextEvent(
        in input: inout UnsafeRawBufferPointer
    ) throws(WebSocketViolation) -> WebSocketAssembler.Event? {
        var piece = assembler.inflates ? UnsafeRawBufferPointer(rebasing: input.prefix(Self.inflatedAtOnce)) : input
        let count = piece.count
        let event = try assembler.next(&piece)
        input = UnsafeRawBufferPointer(rebasing: input.dropFirst(count - piece.count))
        loop.decodingTurns.spend(assembler.takeWork())
        return event
    }

    private func act(on event: WebSocketAssembler.Event) {
        switch event {
        case .message(let message): exchange.received(message, atEndOfRound)
        case .ping(let payload): answer(payload)
        case .pong(let payload):
            for waiter in pongs.answered(by: payload) { exchange.complete(waiter, .success(()), atEndOfRound) }
        case .close(let closing): handle(.received(closing))
        }
    }

    /// If the server doesn't take what we send, only the last of its pings is answered.
    private func answer(_ payload: [UInt8]) {
        takeLine()
        if closeHandshake.answersPings, channel.unsentCount < Self.maximumUnsent {
            encoder.encode(.pong, payload, to: channel)
        } else {
            pong = payload
        }
    }

    private func updateReading() {
        channel.setReading(rest.isEmpty && !(closeHandshake.isReceiving && exchange.isFull))
    }

    func reachedEnd() {
        handle(.connectionEnded)
    }

    func failed(_ failure: TransferFailure) {
        self.failure = failure
        takeLastWords()
    }

    /// The server's close frame may already be there, after messages that haven't been received.
    private func takeLastWords() {
        takeRest(isLast: true)
        // If it has a turn, that takes the rest.
        if !hasTurn { handle(.connectionEnded) }
    }

    // MARK: - Sending

    /// Sends whatever is waiting, as far as there is room.
    private func pump() {
        guard !isPumping, !closeHandshake.isClosed else { return }
        takeLine()
        encodeWaiting()
        channel.flush()
        if closeHandshake.isSending, channel.unsentCount > 0, exchange.isClosing { handle(.closeSoon) }
        lendLine()
    }

    /// Lets callers send their messages without this loop, as long as there is nothing else to send.
    private func lendLine() {
        guard let sender, !isLent, closeHandshake.isSending, !encoder.isInMessage else { return }
        if channel.sendingSocket != nil { isLent = exchange.lendLine(sender) }
    }

    /// Called before anything is sent from here.
    private func takeLine() {
        guard isLent else { return }
        isLent = false
        guard let unfinished = exchange.takeLine() else { return }
        unfinished.rest.withUnsafeBytes { channel.send($0) }
        underWay.append(unfinished.waiter)
    }

    private func encodeWaiting() {
        isPumping = true
        while hasRoom, !encoder.mayCompress || hasTime(), sendNext() {}
        isPumping = false
    }

    private var hasRoom: Bool { closeHandshake.isSending && channel.unsentCount < Self.maximumUnsent }

    /// Compressing, and reading frames, take turns with the loop's other work: false if such work is due, and has to wait.
    private func hasTime() -> Bool {
        if loop.decodingTurns.hasTimeLeft { return true }
        if !hasTurn { loop.decodingTurns.enqueue(self) }
        hasTurn = true
        return false
    }

    /// False if there is nothing to send.
    private func sendNext() -> Bool {
        if let payload = pong.take() {
            encoder.encode(.pong, payload, to: channel)
        } else if let waiter = exchange.takePing() {
            encoder.encode(.ping, pongs.append(waiter), to: channel)
        } else if encoder.isInMessage {
            encodeMore()
        } else if let sending = exchange.takeSend() {
            current = sending.waiter
            encoder.begin(sending.message)
            encodeMore()
        } else if let closing = exchange.closing {
            handle(.close(closing))
        } else {
            return false
        }
        return true
    }

    private func encodeMore() {
        guard let compressed = encoder.encodeMore(to: channel) else { return handle(.connectionEnded) }
        loop.decodingTurns.spend(Self.compressionCost * compressed)
        if !encoder.isInMessage, let waiter = current.take() { underWay.append(waiter) }
    }

    private func send(_ closing: WebSocketClosing) {
        encoder.encode(.close, closing.payload, to: channel)
        countWithClosing = channel.sentCount + channel.unsentCount
    }

    /// Called when the system has everything that was to be sent.
    func sentAll() {
        let waiters = underWay
        underWay = []
        for waiter in waiters { exchange.complete(waiter, .success(()), atEndOfRound) }
        // Within `flush()`, which also sends bytes added meanwhile.
        guard !isPumping else { return }
        encodeWaiting()
        lendLine()
    }

    // MARK: - The end

    private func handle(_ event: WebSocketCloseHandshake.Event) {
        let actions = closeHandshake.handle(event)
        // Noted before the server hears of it, and makes the program act.
        if case .leaving(let ending) = closeHandshake.state { note(ending) }
        for action in actions {
            switch action {
            case .send(let closing):
                takeLine()
                send(closing)
                if !isPumping { channel.flush() }
            case .wait(let duration):
                wait(duration)
            case .finish(let ending):
                finish(ending)
            }
        }
    }

    private func note(_ ending: WebSocketCloseHandshake.Ending) {
        switch ending {
        case .closed(let closing): exchange.noteClosing(closing.status, closing.reason)
        case .failed(let violation): exchange.noteClosing(violation.status.rawValue, nil)
        case .lost(let sent): if sent == nil { exchange.noteClosing(1006, nil) }
        }
    }

    private func wait(_ duration: Duration) {
        let deadline = closeDeadline ?? Deadline { [weak self] in self?.timeIsUp() }
        closeDeadline = deadline
        acknowledgedBeforeWait = channel.acknowledgedCount
        loop.schedule(deadline, at: loop.now + duration)
        // The server's close frame, or the end of the connection, follows messages that haven't been received.
        if !closeHandshake.isReceiving { readRest() }
    }

    private func timeIsUp() {
        let count = channel.acknowledgedCount
        // Pongs that follow our close frame don't count: the server may ask for them forever.
        let isSending = countWithClosing.map { count < $0 } ?? closeHandshake.isSending
        // The system reports room only after a slow server has taken a good part of its buffer.
        handle(.timeIsUp(afterProgress: isSending && count != acknowledgedBeforeWait))
    }

    private func finish(_ ending: WebSocketCloseHandshake.Ending) {
        note(ending)
        stop()
        owner.webSocketFinished(ending, failure)
    }
}

extension WebSocketConnection: DecodingTurn {
    func takeTurn() {
        hasTurn = false
        if failure == nil { proceed() } else { takeLastWords() }
    }
}

extension WebSocketCloseHandshake.Ending {
    /// The error of a web socket at `url` that ends this way; a closed one uses it for later calls.
    func error(at url: URL?) -> URLError {
        let error =
            switch self {
            case .closed(let closing):
                URLError(
                    .networkConnectionLost,
                    url: url,
                    "The web socket is closed, with the status \(closing.status)."
                )
            case .failed(let violation):
                URLError(violation.status.errorCode, url: url, violation.description)
            case .lost:
                URLError(
                    .networkConnectionLost,
                    url: url,
                    "The connection was lost before the server closed the web socket."
                )
            }
        return error.with(phase: .receiving)
    }
}

extension WebSocketViolation.Status {
    fileprivate var errorCode: URLError.Code {
        switch self {
        case .protocolError: .badServerResponse
        case .invalidPayload: .cannotDecodeRawData
        case .tooBig: .dataLengthExceedsMaximum
        }
    }
}
