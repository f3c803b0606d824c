import Curl
import Foundation

/// One HTTP exchange: one request and the response to it. Loop only. What each header line touches is spared the run-time check for
/// overlapping accesses.
final class Exchange: TransferHandler {
    enum BodyRoute {
        case deliver
        /// The body is read to keep the connection, and dropped; a large one ends the exchange instead.
        case discard
        /// Somebody is to decide: libcurl keeps the body until `proceed` is told the route.
        case hold
    }

    struct Ending {
        /// nil where all has come.
        let failure: TransferFailure?
    }

    struct StandingConnection {
        /// What TLS has agreed on, such as "h2" (RFC 7301); nil where it isn't known.
        let negotiated: String?
    }

    let request: URLRequest
    private let body: (any RequestBody)?
    unowned let owner: any ExchangeOwner
    @exclusivity(unchecked) private var parser = HeadParser()
    private var route = BodyRoute.discard
    private var discardedBytes = 0
    private var sentBytes: Int64 = 0
    /// libcurl has got all of the request's body.
    private var hasReadBody: Bool
    private(set) var isPaused = false
    /// The task was suspended, or its consumer too slow, at some time.
    private(set) var wasPaused = false
    /// libcurl was told that there is nothing to send just now.
    private var hasPausedSending = false
    /// libcurl was told to keep the body's bytes.
    private var hasPausedReceiving = false
    /// The head has come, over a connection that others may be waiting to share.
    @exclusivity(unchecked) private var hasFreshAnswer = false
    /// Why a callback has ended the transfer.
    var abortError: URLError?
    /// nil where the body isn't coded, or is not for anybody.
    private(set) var decoding: BodyDecoding?
    /// How the transfer ended, while some of its body is still being decoded.
    private(set) var ending: Ending?

    private(set) var head: ResponseHead?
    /// libcurl leads a conversation of several heads, whose last is the response's.
    private var handshakes: [AuthenticationParty: AuthenticationScheme] = [:]
    /// What the proxy says about the tunnel; nil where there is none to be.
    private(set) var tunnel: ProxyTunnel?
    /// The proxy's answer, where it makes none.
    private(set) var refusal: ResponseHead?
    /// The connection, since it stands; for an exchange that was to report it.
    private(set) var standing: StandingConnection?
    @exclusivity(unchecked) private var circumstances = ReplayPolicy.Circumstances()
    /// The server had closed the connection before the request came, or did so without looking at it, and libcurl has not sent it again.
    private(set) var hasLostKeptConnection = false
    /// libcurl has sent it again, and lost it each time.
    private(set) var wasGivenUp = false
    private var deliveredBytes: Int64 = 0
    /// What the exchange costs, where somebody may want to know; complete when it is over.
    @exclusivity(unchecked) private(set) var metrics: HopMetrics?
    private var receivedBytes: Int64 = 0
    /// Since when nothing has moved in either direction.
    @exclusivity(unchecked) private(set) var lastActivity: MonotonicTime
    let loop: EventLoop
    private var multi: Multi?
    private(set) var easy: EasyHandle?
    private var inquiry: HandshakeInquiry?

    /// More than this of a dropped body costs more than a new connection.
    private static let maximumDiscardedBytes = 64 * 1024

    init(request: URLRequest, body: (any RequestBody)?, loop: EventLoop, owner: any ExchangeOwner) {
        self.request = request
        self.body = body
        hasReadBody = body?.length == 0
        self.owner = owner
        self.loop = loop
        lastActivity = loop.now
    }

    /// Has the exchange gather metrics. Called before it starts.
    func gatherMetrics(throughProxy isProxyConnection: Bool) {
        metrics = HopMetrics(request)
        metrics?.isProxyConnection = isProxyConnection
    }

    /// Starts the transfer. When it throws, nothing has begun, and nothing will be called.
    func start(_ options: TransferOptions, _ hatches: TransferHatches?, in multi: Multi) throws(TransferFailure) {
        circumstances.joinsPriorKnowledge = options.versionOverride == .joinsPriorKnowledge
        if let scheme = options.connectionAuthentication { handshakes[.server] = scheme == .ntlm ? .ntlm : .negotiate }
        if options.usesTunnel {
            tunnel = ProxyTunnel()
        } else if options.proxyAuthentication?.scheme == .ntlm {
            handshakes[.proxy] = .ntlm
        }
        easy = try multi.start(options, handler: self, hatches: hatches)
        inquiry = options.inquiry
        self.multi = multi
    }

    /// Ends the transfer without another call to the owner.
    func cancel() {
        settleMetrics()
        if let easy { multi?.cancel(easy) }
        end()
        endDecoding()
    }

    /// False where libcurl can't yet. Outside of libcurl.
    func setPaused(_ isPaused: Bool) -> Bool {
        lastActivity = loop.now
        if isPaused { wasPaused = true } else { hasPausedReceiving = false }
        if let decoding, decoding.isBusy {
            self.isPaused = isPaused
            pauseForDecoding()
            if !isPaused { decoding.proceed() }
            return true
        }
        guard let easy, easy.setPaused(isPaused) else { return false }
        self.isPaused = isPaused
        return true
    }

    /// Gives the body of a held response its way. Outside of libcurl; can deliver body bytes before it returns.
    func proceed(to route: BodyRoute) {
        self.route = route
        if endIfAnsweredEarly() { return }
        guard hasPausedReceiving, !isPaused else { return }
        hasPausedReceiving = false
        _ = easy?.setPaused(false)
    }

    /// The body, which had nothing to send, has something now. Outside of libcurl.
    func bodyBecameReadable() {
        guard !isPaused, decoding?.isBusy != true else { return }
        _ = easy?.setPaused(false)
    }

    var hasBody: Bool { body != nil }

    /// Starts the idle clock anew.
    func noteActivity() {
        lastActivity = loop.now
    }

    /// What the handshake was stopped for; the exchange has failed then.
    var handshakeQuestion: HandshakeQuestion? { inquiry?.question }

    /// How far the transfer has come.
    var phase: TransferPhase { easy?.phase ?? (ending == nil ? .preparing : .receiving) }

    /// Bytes that libcurl has moved so far, heads included.
    var bytesMoved: Int64 { easy?.bytesMoved ?? 0 }

    /// Takes what libcurl knows, while it does.
    private func settleMetrics() {
        guard metrics != nil else { return }
        metrics?.receivedBodySize = receivedBytes
        guard let easy else { return }
        metrics?.statistics = easy.statistics
        metrics?.head = head
        metrics?.sentBodySize = sentBytes
    }

    /// The transfer is over.
    private func end() {
        easy = nil
        multi = nil
        inquiry?.close()
        body?.close()
    }

    // MARK: - TransferHandler

    func transferConnected(negotiated: String?) {
        standing = StandingConnection(negotiated: negotiated)
    }

    func transferReceived(headerLine: UnsafeRawBufferPointer) -> ReceiveVerdict {
        circumstances.hasHeard = true
        let event = parser.consume(lines: headerLine)
        if !parser.informational.isEmpty {
            for head in parser.informational { owner.exchange(self, receivedInformational: head) }
            parser.informational = []
        }
        switch event {
        case .incomplete:
            return .accepted
        case .malformed:
            abortError = URLError(.badServerResponse, request.url, "The response's head is not valid or too large.")
            return .abort
        case .unparsable:
            abortError = URLError(.cannotParseResponse, request.url, "The response has no status line.")
            return .abort
        case .complete(let head):
            if !handshakes.isEmpty, AuthenticationOffer.isHandshake(head, of: handshakes) {
                parser = HeadParser()
                return .accepted
            }
            self.head = head
            hasFreshAnswer = !head.version.hasPrefix("HTTP/1")
            // Later the transfer may have no connection to ask.
            if metrics != nil { metrics?.tls = easy?.tlsSession }
            do throws(URLError) {
                if head.hasUnwantedTransferCoding { throw Self.unwantedTransferCoding(of: head, request.url) }
                route = try owner.exchange(self, received: head)
                try prepareDecoding(of: head)
                return endsWithHead ? .abort : .accepted
            } catch {
                abortError = error
                return .abort
            }
        }
    }

    func transferReceived(tunnelHeaderLine: UnsafeRawBufferPointer) -> ReceiveVerdict {
        guard tunnel?.consume(lines: tunnelHeaderLine) == false else { return .accepted }
        abortError = URLError(.badServerResponse, request.url, "The proxy's answer is not valid or too large.")
        return .abort
    }

    func transferReceived(body bytes: UnsafeRawBufferPointer) -> ReceiveVerdict {
        switch route {
        case .deliver:
            do throws(URLError) {
                guard let decoding else {
                    try deliver(bytes)
                    return .accepted
                }
                if decoding.isFull {
                    hasPausedReceiving = true
                    return .pause
                }
                try decoding.receive(bytes)
                return .accepted
            } catch {
                abortError = error
                return .abort
            }
        case .discard:
            receivedBytes += Int64(bytes.count)
            discardedBytes += bytes.count
            return discardedBytes > Self.maximumDiscardedBytes ? .abort : .accepted
        case .hold:
            hasPausedReceiving = true
            return .pause
        }
    }

    /// The next bytes of the body as the owner gets it.
    func deliver(_ bytes: UnsafeRawBufferPointer) throws(URLError) {
        receivedBytes += Int64(bytes.count)
        deliveredBytes += Int64(bytes.count)
        try owner.exchange(self, received: bytes)
    }

    private func prepareDecoding(of head: ResponseHead) throws(URLError) {
        if case .discard = route { return }
        guard easy?.decodesContent ?? true else { return }
        switch head.contentCoding {
        case .none: break
        case .codings(let codings):
            decoding = BodyDecoding(codings, of: head, at: request.url, on: loop, owner: self)
        case .tooMany(let count):
            throw URLError(.cannotDecodeContentData, request.url, "The response's body has \(count) content codings.")
        }
    }

    func transferNeedsBody(into buffer: UnsafeMutableRawBufferPointer) -> SendVerdict {
        guard let body else { return .bytes(0) }
        guard owner.exchangeMaySend(self) else {
            hasPausedSending = true
            return .pause
        }
        do throws(URLError) {
            guard case .bytes(let count) = try body.read(into: buffer) else { return .pause }
            sentBytes += Int64(count)
            hasReadBody = count == 0 || sentBytes == body.length
            if count > 0 {
                if metrics != nil { metrics?.bodySent = Date() }
                owner.exchange(self, sent: sentBytes)
            }
            return .bytes(count)
        } catch {
            abortError = error
            return .abort
        }
    }

    func transferRewindsBody(to offset: Int64) -> Bool {
        guard let body, body.seek(to: offset) else { return false }
        sentBytes = offset
        hasReadBody = body.length == offset
        return true
    }

    func transferSettled() {
        lastActivity = loop.now
        if hasFreshAnswer {
            hasFreshAnswer = false
            if let easy { multi?.reviewWaiting(behind: easy) }
        }
        pauseForDecoding()
        if hasPausedSending {
            hasPausedSending = false
            _ = setPaused(true)
            owner.exchangePaused(self)
        }
        if !endIfAnsweredEarly() { owner.exchangeSettled(self) }
    }

    /// Ends an exchange whose answer is dropped while its body is still being sent: the rest would be sent for nothing, perhaps
    /// to a server that doesn't read it. Outside of libcurl.
    private func endIfAnsweredEarly() -> Bool {
        guard head != nil, case .discard = route, body != nil, !hasReadBody, easy != nil else { return false }
        cancel()
        owner.exchangeFinished(self, nil)
        return true
    }

    func transferFinished(_ failure: TransferFailure?) {
        settleMetrics()
        if abortError == nil, let failure {
            circumstances.hasHead = head != nil
            wasGivenUp = ReplayPolicy.isGivenUp(failure)
            hasLostKeptConnection = ReplayPolicy.isLossOfKeptConnection(failure, circumstances)
            if head == nil { refusal = failure.code.rawValue == Self.timedOut ? nil : tunnel?.refusal }
        }
        end()
        if abortError == nil, let decoding, decoding.isBusy {
            ending = Ending(failure: failure)
            owner.exchangeLeftConnection(self)
            return settleDecoding(decoding)
        }
        complete(failure)
    }

    /// The transfer is over, and what it brought is with the owner.
    func complete(_ failure: TransferFailure?) {
        var error = error(for: failure)
        if error == nil, case .deliver = route { error = decodingError() }
        settleMetrics()
        ending = nil
        endDecoding()
        owner.exchangeFinished(self, error)
    }

    /// Has libcurl bring more, where it has. Outside of libcurl; can deliver body bytes before it returns.
    func continueTransfer() {
        hasPausedReceiving = false
        _ = easy?.setPaused(false)
    }

    private func endDecoding() {
        decoding?.end()
        decoding = nil
    }

    /// A HEAD with a body, of whose response libcurl would wait for more.
    private var endsWithHead: Bool { request.httpMethod == "HEAD" && body != nil && body?.length != 0 }

    private func error(for failure: TransferFailure?) -> URLError? {
        if let abortError { return abortError.with(phase: failure?.phase ?? .receiving) }
        if head != nil, failure == nil { return nil }
        if head != nil, endsWithHead { return nil }
        // A dropped body that was cut short, by us or by the server, says nothing about the task.
        if head != nil, case .discard = route { return nil }
        // The server has answered in full, and closed the connection, or with HTTP/2 the stream, before it had the whole body.
        if let code = failure?.code.rawValue, [Self.sendError, Self.streamError].contains(code), let head,
            !head.isContentCoded,
            head.contentLength == deliveredBytes
        {
            return nil
        }
        if let failure, let refusal { return URLError(failure, url: request.url, refusal: refusal) }
        if let failure { return URLError(failure, url: request.url) }
        return head == nil ? URLError(Self.noHead, url: request.url) : nil
    }

    private static func unwantedTransferCoding(of head: ResponseHead, _ url: URL?) -> URLError {
        let coding = (head["Transfer-Encoding"] ?? "").debugDescription
        return URLError(
            .cannotDecodeContentData,
            url,
            "The response has a transfer coding that wasn't asked for: \(coding)."
        )
    }

    private static let timedOut: UInt32 = 28
    private static let sendError: UInt32 = 55
    private static let streamError: UInt32 = 92

    /// What libcurl takes for success: the server has closed the connection inside the head.
    private static let noHead = TransferFailure(
        code: CurlCode(rawValue: 52),
        text: "The server closed the connection before the response's head was complete.",
        phase: .receiving
    )
}
