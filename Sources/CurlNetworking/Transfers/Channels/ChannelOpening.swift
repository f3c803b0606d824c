import CurlTransport
import Foundation

/// The opening of a transfer's channel: what a proxy says on the way, what TLS asks, and what a failure means. Loop only.
struct ChannelOpening {
    /// What opening takes.
    struct Order {
        let options: ChannelOptions
        let hooks: TransferHooks?
        let multi: Multi
        /// nil if they aren't wanted.
        let metrics: HopMetrics?
    }

    private let url: URL?
    private let hooks: TransferHooks?
    private let inquiry: HandshakeInquiry?
    /// nil without a tunnel.
    private(set) var tunnel: ProxyTunnel?

    init(_ order: Order, to url: URL?) {
        self.url = url
        hooks = order.hooks
        inquiry = order.options.inquiry
        if order.options.proxy.usesTunnel { tunnel = ProxyTunnel() }
    }

    /// Begins to connect. If it throws, nothing has begun.
    func begin(_ order: Order, for delegate: any ChannelDelegate) throws(URLError) -> Channel {
        do throws(TransferFailure) {
            return try Channel(order.options, in: order.multi, hooks: order.hooks, delegate: delegate)
        } catch {
            throw URLError(error, of: order.hooks, url: url)
        }
    }

    /// Within libcurl.
    mutating func received(tunnelLine line: UnsafeRawBufferPointer, on channel: Channel) -> ReceiveVerdict {
        channel.trace(.headerIn, line)
        return tunnel?.receive(lines: line) ?? .accepted
    }

    /// Why the transfer fails when the channel has failed; a proxy's refusal is noted in `ending`.
    func error(after failure: TransferFailure, _ ending: inout TransferEnding) -> URLError {
        if tunnel?.isMalformed == true { return .invalidTunnelAnswer(url) }
        guard let refusal = tunnel?.refusal(before: failure) else { return URLError(failure, url: url) }
        ending.refusal = refusal
        ending.refusesAnswer = tunnel?.hasRefusedAnswer == true
        return URLError(failure, url: url, refusal: refusal)
    }

    /// Of the program's own options.
    var effect: OptionEffect { hooks?.effect ?? .connection }

    /// The question for which TLS was stopped.
    var handshakeQuestion: HandshakeQuestion? { inquiry?.question }

    /// The transfer is over.
    func close() {
        inquiry?.close()
    }
}
