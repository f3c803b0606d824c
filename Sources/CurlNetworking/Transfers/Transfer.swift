import CurlTransport
import Foundation

/// Where a response and its body come from: an HTTP or FTP server, this machine, a program's protocol class, or the cache. Loop only.
///
/// It reports to its delegate, and never again after it has been cancelled or has reported its end.
protocol Transfer: AnyObject {
    /// How the task's metrics count it.
    var source: HopMetrics.Source { get }

    /// What it has cost so far; nil where nobody wants to know, or where the task measures it itself.
    var metrics: HopMetrics? { get }

    /// Since when nothing has moved; nil while the idle clock stands still.
    var lastActivity: MonotonicTime? { get }

    /// How far it has come; errors say so.
    var phase: TransferPhase { get }

    /// What it has found out about its connection, for admission.
    var connection: ConnectionReport { get }

    /// Begins. When it throws, nothing has begun and nothing will be reported.
    func start() throws(URLError)

    /// Nothing is reported while it is paused. False where libcurl can't change that just now.
    func setPaused(_ isPaused: Bool) -> Bool

    /// Sends the body of a held response on its way. May report body bytes before it returns. Outside of libcurl.
    func proceed(to route: BodyRoute)

    /// The request's body, which had nothing to send, has something now. Outside of libcurl.
    func bodyBecameReadable()

    /// The program of a web socket wants something. Outside of libcurl.
    func wishesChanged()

    /// Whether bytes have moved since `lastActivity` after all, unseen by the delegate; restarts the idle clock if so.
    func hasMovedUnseen() -> Bool

    /// Ends it without another report.
    func cancel()
}

extension Transfer {
    var metrics: HopMetrics? { nil }
    var lastActivity: MonotonicTime? { nil }
    var phase: TransferPhase { .preparing }
    var connection: ConnectionReport { ConnectionReport() }

    func proceed(to route: BodyRoute) {}
    func bodyBecameReadable() {}
    func wishesChanged() {}
    func hasMovedUnseen() -> Bool { false }
}

/// What becomes of a response's body.
enum BodyRoute {
    case deliver
    /// The body is read to keep the connection, and dropped; a large one ends the transfer instead.
    case discard
    /// Somebody has yet to decide: the transfer keeps the body until `Transfer.proceed(to:)`.
    case hold
}

/// What a transfer knows of its connection.
struct ConnectionReport {
    enum Establishment {
        /// Not established yet, or the transfer wasn't asked to report it.
        case unknown
        /// Established; what TLS has agreed on, such as "h2" (RFC 7301), where that is known.
        case established(negotiated: String?)
    }

    var establishment = Establishment.unknown
    /// The version of the answer that has come over it, such as "HTTP/2".
    var answeredVersion: String?
}

/// The head of a response, and what it answers.
struct ReceivedHead {
    let head: ResponseHead
    let request: URLRequest
    /// What an HTTP proxy has said about the tunnel; nil where there is none.
    var tunnel: ProxyTunnel?
}

/// How a transfer has ended.
struct TransferEnding {
    /// nil where the response and its body are complete.
    var error: URLError?
    /// The response's head, if it has come.
    var head: ResponseHead?
    /// The TLS handshake was stopped for this question.
    var handshakeQuestion: HandshakeQuestion?
    /// A proxy's refusal to make a tunnel.
    var refusal: ResponseHead?
    var loss = ConnectionLoss.none
    /// The task was suspended, or its consumer too slow, at some time.
    var wasPaused = false
    /// It went over the network, and not to a program's protocol class or this machine's files.
    var isOfNetwork = false

    enum ConnectionLoss {
        case none
        /// The server had closed the kept connection before the request came, or did so without looking at it.
        case keptConnection
        /// libcurl has sent the request again by itself, and lost each connection.
        case everyConnection
    }

    init(_ error: URLError? = nil) {
        self.error = error
    }
}

/// Who runs a transfer. All calls come on the loop; those that say "within libcurl" may not call the transfer back.
protocol TransferDelegate: AnyObject {
    /// The response's head is complete: where does its body go? Throws to end the transfer. Within libcurl.
    func transfer(_ transfer: any Transfer, received head: ReceivedHead) throws(URLError) -> BodyRoute

    /// The response of a transfer that no server's head is about; its body follows.
    func transfer(
        _ transfer: any Transfer,
        received response: URLResponse,
        storagePolicy: URLCache.StoragePolicy
    ) throws(URLError)

    /// An informational response has come (RFC 9110 §15.2). Within libcurl.
    func transfer(_ transfer: any Transfer, receivedInformational head: ResponseHead)

    /// The next bytes of the decoded body; throws where they can't be kept. Within libcurl, or outside of it.
    func transfer(_ transfer: any Transfer, received body: UnsafeRawBufferPointer) throws(URLError)

    /// Whether more of the body may be reported now; asked where the transfer can stop amid what has come.
    func transferMayDeliver(_ transfer: any Transfer) -> Bool

    /// The connection is free: all of the response has come, and some of it has yet to be decoded. Outside of libcurl.
    func transferLeftConnection(_ transfer: any Transfer)

    /// Whether body bytes may be sent now. Within libcurl.
    func transferMaySend(_ transfer: any Transfer) -> Bool

    /// So many bytes of the request's body are on their way, in all. Within libcurl.
    func transfer(_ transfer: any Transfer, sent totalBytes: Int64)

    /// Sending has paused because `transferMaySend` said no, and with it the whole transfer. Outside of libcurl.
    func transferPaused(_ transfer: any Transfer)

    /// Called once after each series of the calls above, outside of libcurl.
    func transferSettled(_ transfer: any Transfer)

    /// The last call. Outside of libcurl.
    func transferFinished(_ transfer: any Transfer, _ ending: TransferEnding)
}

extension TransferDelegate {
    /// Reports a piece of the body that no libcurl callback brings, and lets the delegate act on it. False where it couldn't be kept: the
    /// transfer has been reported as failed then.
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
