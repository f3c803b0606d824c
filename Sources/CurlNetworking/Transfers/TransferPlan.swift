import CurlTransport
import Foundation

/// The plan for a transfer: made by the loader for each request, and completed by its steps. A class, because it is large and passed on
/// many times. Loop only.
final class TransferPlan {
    let request: URLRequest
    /// The admission to the request's host; nil for local resources, which need none.
    let ticket: Admission.Ticket?
    /// Closed by the plan's maker until the transfer takes it over.
    let body: (any RequestBody)?
    /// libcurl's options for an HTTP request; nil for FTP and local resources.
    var options: TransferOptions?
    /// Where a download from an FTP server continues, in bytes.
    var offset: Int64 = 0
    /// Decides on the TLS handshake; nil for libcurl's verification alone.
    var decider: HandshakeDecider?
    var connection = ConnectionChoice.any
    /// What a web socket exchanges; nil for other tasks.
    var webSocket: WebSocketExchange?

    /// - Parameter keepsCredentials: Whether the session's own credentials may be sent: only to the origin that the task was made for.
    init(
        _ request: URLRequest,
        ticket: Admission.Ticket?,
        body: (any RequestBody)?,
        settings: SessionSettings,
        keepsCredentials: Bool
    ) throws(URLError) {
        self.request = request
        self.ticket = ticket
        self.body = body
        guard let ticket, !ticket.origin.isFTP else { return }
        options = try RequestEncoder.options(
            for: request,
            at: ticket.origin,
            body: body,
            settings: settings,
            keepsCredentials: keepsCredentials
        )
    }
}
