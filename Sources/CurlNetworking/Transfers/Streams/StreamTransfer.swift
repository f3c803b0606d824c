import CurlTransport
import Foundation

/// The connection of a stream task, from its making by libcurl, as any request's would be, to its end. Loop only.
final class StreamTransfer: Transfer {
    private enum State {
        case ready(Order)
        case connecting(Channel)
        case open(StreamConnection)
        case over
    }

    /// What the connection is to be like.
    struct Order {
        let options: ChannelOptions
        let hooks: TransferHooks?
        let multi: Multi
        let site: StreamConnection.Site
        /// nil where nobody wants metrics.
        var throughProxy: Bool?
    }

    private let request: URLRequest
    private let port: StreamPort
    private let loop: EventLoop
    private let site: StreamConnection.Site
    private unowned let delegate: any TransferDelegate

    private var state: State
    private var tunnel = ProxyTunnel()
    private(set) var metrics: HopMetrics?
    private(set) var lastActivity: MonotonicTime?

    let source = HopMetrics.Source.network

    init(_ request: URLRequest, _ order: Order, port: StreamPort, loop: EventLoop, delegate: any TransferDelegate) {
        self.request = request
        self.port = port
        self.loop = loop
        self.delegate = delegate
        site = order.site
        state = .ready(order)
        if let throughProxy = order.throughProxy {
            metrics = HopMetrics(request)
            metrics?.isProxyConnection = throughProxy
        }
    }

    func start() throws(URLError) {
        guard case .ready(let order) = state else { return }
        lastActivity = loop.now
        do throws(TransferFailure) {
            state = .connecting(try Channel(order.options, in: order.multi, hooks: order.hooks, delegate: self))
        } catch {
            throw URLError(error, of: order.hooks, url: request.url)
        }
    }

    var phase: TransferPhase {
        switch state {
        case .connecting(let channel): channel.phase
        case .open(let connection): connection.phase
        case .ready, .over: .preparing
        }
    }

    func setPaused(_ isPaused: Bool) -> Bool {
        if lastActivity != nil { lastActivity = loop.now }
        port.setPaused(isPaused)
        return true
    }

    func cancel() {
        switch state {
        case .connecting(let channel):
            settleMetrics(channel)
            channel.close()
        case .open(let connection): connection.close()
        case .ready, .over: break
        }
        state = .over
    }

    private func settleMetrics(_ channel: Channel) {
        if metrics != nil { metrics?.statistics = channel.statistics }
    }
}

extension StreamTransfer: ChannelDelegate {
    /// Within libcurl.
    func channel(_ channel: Channel, receivedTunnelHeaderLine line: UnsafeRawBufferPointer) -> ReceiveVerdict {
        tunnel.consume(lines: line) ? .accepted : .abort
    }

    func channelOpened(_ channel: Channel) {
        let connection = StreamConnection(channel, port, to: site, url: request.url, loop: loop, owner: self)
        state = .open(connection)
        lastActivity = nil
        settleMetrics(channel)
        // A stream lives long: others needn't wait for its end.
        delegate.transferLeftConnection(self)
        delegate.transferSettled(self)
        guard case .open = state else { return }
        connection.open()
    }

    // Nothing is read or written before there is a connection.
    func channel(_ channel: Channel, received bytes: UnsafeRawBufferPointer) {}
    func channelReachedEnd(_ channel: Channel) {}
    func channelSentAll(_ channel: Channel) {}

    func channel(_ channel: Channel, failed failure: TransferFailure) {
        settleMetrics(channel)
        state = .over
        var ending = TransferEnding(URLError(failure, url: request.url))
        ending.isOfNetwork = true
        if let refusal = tunnel.refusal, failure.code != .operationTimedOut {
            ending.error = URLError(failure, url: request.url, refusal: refusal)
            ending.refusal = refusal
        }
        delegate.transferFinished(self, ending)
    }
}

extension StreamTransfer: StreamConnectionOwner {
    func streamFinished(_ error: URLError?) {
        state = .over
        delegate.transferFinished(self, TransferEnding(error))
    }
}
