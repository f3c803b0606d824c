import CurlTransport
import Foundation

/// The source of a response and its body: an HTTP or FTP server, this machine, a program's protocol class, or the cache. Loop only.
///
/// It reports to its delegate, but never after it has been cancelled or has reported its end.
protocol Transfer: AnyObject {
    /// How the task's metrics classify it.
    var source: HopMetrics.Source { get }

    /// Whether it uses the network, rather than a program's protocol class or local files.
    var isOfNetwork: Bool { get }

    /// Its metrics so far; nil if they aren't wanted, or if the task measures it itself.
    var metrics: HopMetrics? { get }

    /// When bytes last moved; nil while the idle clock is stopped.
    var lastActivity: MonotonicTime? { get }

    /// How far it has got; included in errors.
    var phase: TransferPhase { get }

    /// What it knows about its connection, for admission.
    var connection: ConnectionReport { get }

    /// Starts it. If this throws, nothing has started and nothing will be reported.
    func start() throws(URLError)

    /// Whether it was told to pause. Nothing is reported meanwhile.
    var isPaused: Bool { get }

    /// Whether it goes on with a held response by itself, as far as it keeps the body, and so needn't be paused meanwhile.
    var isKeepingBody: Bool { get }

    /// Pauses or resumes it. If libcurl can't at the moment, `isPaused` stays unchanged.
    func setPaused(_ isPaused: Bool)

    /// Routes the body of a held response. May report body bytes before it returns. Outside of libcurl.
    func proceed(to route: BodyRoute)

    /// Called when the request's body has bytes to send again. Outside of libcurl.
    func bodyBecameReadable()

    /// Called when the idle clock has run down: restarts it if bytes have moved since `lastActivity` without being reported to the
    /// delegate. Returns whether they have.
    func restartIdleClockIfMoved() -> Bool

    /// Restarts the idle clock.
    func noteActivity()

    /// Called when nothing has moved for so long that the transfer is about to be cancelled; its connection may be dead.
    func timedOut()

    /// Ends it without another report.
    func cancel()
}

extension Transfer {
    var isOfNetwork: Bool { source == .network }
    var metrics: HopMetrics? { nil }
    var lastActivity: MonotonicTime? { nil }
    var phase: TransferPhase { .preparing }
    var connection: ConnectionReport { ConnectionReport() }
    var isKeepingBody: Bool { false }

    func proceed(to route: BodyRoute) {}
    func bodyBecameReadable() {}
    func restartIdleClockIfMoved() -> Bool { false }
    func noteActivity() {}
    func timedOut() {}
}

/// What to do with a response's body.
enum BodyRoute {
    case deliver
    /// Read the body to keep the connection, and drop it; a large one ends the transfer instead.
    case discard
    /// Undecided: the transfer keeps the body until `Transfer.proceed(to:)`.
    case hold
}

/// What a transfer knows about its connection.
struct ConnectionReport {
    enum Establishment {
        /// Not established yet, or the transfer wasn't asked to report it.
        case unknown
        /// Established; with the protocol TLS negotiated, such as "h2" (RFC 7301), if known.
        case established(negotiated: String?)
    }

    var establishment = Establishment.unknown
    /// The version of the response received over it, such as "HTTP/2".
    var responseVersion: String?
}

/// The head of a response, and what it responds to.
struct ReceivedHead {
    let head: ResponseHead
    let request: URLRequest
    /// The HTTP proxy's responses about the tunnel; nil without a tunnel.
    var tunnel: ProxyTunnel?
    /// The most that the program's own libcurl options affect.
    var effect = OptionEffect.connection
}

/// How a transfer ended.
struct TransferEnding {
    /// nil if the response and its body are complete.
    var error: URLError?
    /// The response's head, if it has arrived.
    var head: ResponseHead?
    /// The question for which the TLS handshake was stopped.
    var handshakeQuestion: HandshakeQuestion?
    /// A proxy's refusal of a tunnel.
    var refusal: ResponseHead?
    /// Whether the proxy refused in spite of libcurl's answer to a challenge.
    var refusesAnswer = false
    var loss = ConnectionLoss.none
    /// Whether the task was suspended at some point, or its consumer was too slow.
    var wasPaused = false
    /// The transfer's `isOfNetwork`.
    var isOfNetwork = false
    /// Whether only HTTP/2 says where the body ends, and its connection is closed, or the server sends no more on it: some versions of
    /// libcurl, 7.88 among them, then take an error for the end.
    var mayBeCutShort = false

    enum ConnectionLoss {
        case none
        /// The server had closed the reused connection before the request arrived, or without looking at it.
        case keptConnection
        /// libcurl retried the request by itself, and lost every connection.
        case everyConnection
        /// The server answered an upload before it had the whole body, and libcurl lost the response.
        case response
        /// The same, after the response's head.
        case restOfResponse
        /// libcurl refused the response because of its `Location`.
        case refusedResponse
    }

    /// How far the transfer had got.
    var phase: TransferPhase { error.map { $0.transferPhase ?? .preparing } ?? .receiving }

    init(_ error: URLError? = nil, isOfNetwork: Bool = false) {
        self.error = error
        self.isOfNetwork = isOfNetwork
    }
}

/// Owns a transfer and receives its reports. All calls are made on the loop; those marked "within libcurl" must not call the transfer back.
protocol TransferDelegate: AnyObject {
    /// Called when the response's head is complete; returns what to do with its body. Throws to end the transfer. Within libcurl.
    func transfer(_ transfer: any Transfer, received head: ReceivedHead) throws(URLError) -> BodyRoute

    /// Reports the response of a transfer without a server's head; its body follows.
    func transfer(
        _ transfer: any Transfer,
        received response: URLResponse,
        storagePolicy: URLCache.StoragePolicy
    ) throws(URLError)

    /// Called when the HTTP proxy opens the tunnel. Within libcurl.
    func transfer(_ transfer: any Transfer, opened tunnel: ProxyTunnel)

    /// Called when an informational response arrives (RFC 9110 §15.2). Within libcurl.
    func transfer(_ transfer: any Transfer, receivedInformational head: ResponseHead)

    /// Takes the next bytes of the decoded body; throws if they can't be kept. Within libcurl or outside.
    func transfer(_ transfer: any Transfer, received body: UnsafeRawBufferPointer) throws(URLError)

    /// Whether more of the body may be reported now; asked by transfers that can stop in the middle of received bytes.
    func transferMayDeliver(_ transfer: any Transfer) -> Bool

    /// Called when the connection is free: the whole response has arrived, though some of it has yet to be decoded. Outside of libcurl.
    func transferLeftConnection(_ transfer: any Transfer)

    /// Whether body bytes may be sent now; if not, the transfer pauses. Not while a question is open: the program would hear of them before
    /// answering. Within libcurl.
    func transferMaySend(_ transfer: any Transfer) -> Bool

    /// Reports the total of the request's body bytes handed to libcurl. Within libcurl.
    func transfer(_ transfer: any Transfer, sent totalBytes: Int64)

    /// Called once after each series of the calls above, outside of libcurl.
    func transferSettled(_ transfer: any Transfer)

    /// The last call. Outside of libcurl.
    func transferFinished(_ transfer: any Transfer, _ ending: TransferEnding)
}

extension TransferDelegate {
    /// Reports the tunnel, if the proxy has now opened it; returns what libcurl gets for the lines that said so. Within libcurl.
    func transfer(_ transfer: any Transfer, received event: ProxyTunnel.Event) -> ReceiveVerdict {
        switch event {
        case .incomplete:
            return .accepted
        case .opened(let tunnel):
            self.transfer(transfer, opened: tunnel)
            return .accepted
        case .failed:
            return .abort
        }
    }

    /// Reports a piece of the body that doesn't come from a libcurl callback, and lets the delegate act on it. False if it couldn't be
    /// kept: then the transfer has been reported as failed.
    func transfer(_ transfer: any Transfer, received data: Data) -> Bool {
        do throws(URLError) {
            try data.withUnsafeBytes { bytes in
                Result { () throws(URLError) in try self.transfer(transfer, received: bytes) }
            }.get()
        } catch {
            transfer.cancel()
            transferFinished(transfer, TransferEnding(error))
            return false
        }
        transferSettled(transfer)
        return true
    }
}
