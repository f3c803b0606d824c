import CurlTransport
import Foundation

/// The opening of a transfer's channel: a proxy's responses on the way, TLS's questions, and the meaning of a failure. Loop only.
struct ChannelOpening {
    /// The input of `begin`.
    struct Setup {
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

    init(_ setup: Setup, to url: URL?) {
        self.url = url
        hooks = setup.hooks
        inquiry = setup.options.inquiry
        if setup.options.proxy.usesTunnel { tunnel = ProxyTunnel() }
    }

    /// Starts to connect. If this throws, nothing was started.
    func begin(_ setup: Setup, for delegate: any ChannelDelegate) throws(URLError) -> Channel {
        do throws(TransferFailure) {
            return try Channel(setup.options, in: setup.multi, hooks: setup.hooks, delegate: delegate)
        } catch {
            throw URLError(error, of: setup.hooks, url: url)
        }
    }

    /// Within libcurl.
    mutating func received(tunnelLine line: UnsafeRawBufferPointer, on channel: Channel) -> ProxyTunnel.Event {
        channel.trace(.headerIn, line)
        return tunnel?.receive(lines: line) ?? .incomplete
    }

    /// Returns the transfer's error after the channel has failed, and notes a proxy's refusal in `ending`.
    func error(after failure: TransferFailure, _ ending: inout TransferEnding) -> URLError {
        if tunnel?.isMalformed == true { return .invalidTunnelResponse(url) }
        guard let refusal = tunnel?.refusal(before: failure) else { return URLError(failure, url: url) }
        ending.refusal = refusal
        ending.refusesAnswer = tunnel?.hasRefusedAnswer == true
        return URLError(failure, url: url, refusal: refusal)
    }

    /// The effect of the program's own options.
    var effect: OptionEffect { hooks?.options.effect ?? .connection }

    /// The question for which TLS was stopped.
    var handshakeQuestion: HandshakeQuestion? { inquiry?.question }

    /// Called when the transfer is over.
    func close() {
        inquiry?.close()
    }
}
