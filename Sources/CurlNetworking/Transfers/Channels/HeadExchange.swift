import CurlTransport
import Foundation

/// The common part of requests for which we speak HTTP/1.1 ourselves: the channel, the request's head, and the response's. Loop only.
final class HeadExchange {
    private let request: URLRequest
    private let loop: EventLoop
    private var opening: ChannelOpening
    private var reader = HeadReader()
    /// nil before `begin`, and after the end.
    private(set) var channel: Channel?
    private(set) var isPaused = false
    /// When something last happened.
    private(set) var activity: MonotonicTime
    var log: ExchangeLog
    private var ending = TransferEnding(isOfNetwork: true)

    init(_ request: URLRequest, over setup: ChannelOpening.Setup, loop: EventLoop) {
        self.request = request
        self.loop = loop
        opening = ChannelOpening(setup, to: request.url)
        activity = loop.now
        log = ExchangeLog(setup.metrics, at: loop.now)
    }

    /// The head of the response; nil while it is incomplete.
    var head: ResponseHead? { ending.head }

    /// The phase while the channel is being opened.
    var phase: TransferPhase { channel?.phase ?? .preparing }

    /// The phase while the response's head is awaited. `hasWritten`: whether all of the request has been passed to the channel.
    func phase(hasWritten: Bool) -> TransferPhase {
        hasWritten && channel?.unsentCount == 0 ? .receiving : .sending
    }

    func noteActivity() {
        activity = loop.now
    }

    func setPaused(_ isPaused: Bool) {
        self.isPaused = isPaused
        if isPaused { ending.wasPaused = true }
        noteActivity()
    }

    // MARK: - The request

    /// Starts to connect. If this throws, nothing was started.
    func begin(_ setup: ChannelOpening.Setup, for delegate: any ChannelDelegate) throws(URLError) {
        channel = try opening.begin(setup, for: delegate)
    }

    /// Within libcurl.
    func received(tunnelLine line: UnsafeRawBufferPointer, on channel: Channel) -> ProxyTunnel.Event {
        noteActivity()
        return opening.received(tunnelLine: line, on: channel)
    }

    /// Adds `text`, the request's head, to the output of `channel`, which is open.
    func send(_ text: String, on channel: Channel) {
        noteActivity()
        let bytes = Array(text.utf8)
        log.opened(channel, requestHeadSize: bytes.count, at: loop.now)
        bytes.withUnsafeBytes { bytes in
            channel.trace(.headerOut, bytes)
            channel.send(bytes)
        }
    }

    // MARK: - The response

    /// Takes the next bytes of the response. Returns its head, if now complete, and the bytes after it.
    ///
    /// - Parameter report: Called for each informational response. The transfer may be over after that.
    func receive(
        _ bytes: UnsafeRawBufferPointer,
        informational report: (ResponseHead) -> Void
    ) throws(URLError) -> (head: ResponseHead, rest: UnsafeRawBufferPointer)? {
        noteActivity()
        log.answered(at: loop.now)
        var rest = bytes
        let event = reader.consume(&rest)
        channel?.trace(.headerIn, UnsafeRawBufferPointer(rebasing: bytes.dropLast(rest.count)))
        for head in reader.takeInformational() { report(head) }
        switch event {
        case .incomplete: return nil
        case .unparsable: throw URLError(.cannotParseResponse, url: request.url, "The response has no status line.")
        case .malformed: throw .invalidHead(request.url)
        case .complete(let head):
            log.head(head, size: reader.size)
            ending.head = head
            return (head, rest)
        }
    }

    func received(_ head: ResponseHead) -> ReceivedHead {
        ReceivedHead(head: head, request: request, tunnel: opening.tunnel, effect: opening.effect)
    }

    // MARK: - The end

    /// The transfer's error after the channel has failed.
    func error(after failure: TransferFailure) -> URLError {
        opening.error(after: failure, &ending)
    }

    /// Takes libcurl's statistics while they exist.
    func settleMetrics() {
        if let channel { log.settle(channel, at: loop.now) }
    }

    /// Returns the channel, which then belongs to the caller.
    func takeChannel() -> Channel? {
        settleMetrics()
        return channel.take()
    }

    func close() {
        channel.take()?.close()
        opening.close()
    }

    /// Closes everything; returns the ending that the transfer reports.
    func end(_ error: URLError?, isOfNetwork: Bool = true) -> TransferEnding {
        close()
        ending.error = error
        ending.isOfNetwork = isOfNetwork
        ending.handshakeQuestion = opening.handshakeQuestion
        return ending
    }
}
