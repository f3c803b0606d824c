import CurlTransport
import Foundation

/// The connection of a stream task, from its opening by libcurl, like any request's, to its end. Loop only.
final class StreamTransfer: Transfer {
    private enum State {
        case ready(Setup)
        case connecting(Channel)
        case open(StreamConnection)
        case over
    }

    /// What `start()` needs.
    struct Setup {
        let channel: ChannelOpening.Setup
        let site: StreamConnection.Site
    }

    private let request: URLRequest
    private let port: StreamPort
    private let loop: EventLoop
    private let site: StreamConnection.Site
    private unowned let delegate: any TransferDelegate

    private var state: State
    private var opening: ChannelOpening
    private var wasPaused = false
    private(set) var metrics: HopMetrics?
    private(set) var lastActivity: MonotonicTime?

    var source: HopMetrics.Source { .network }

    init(_ request: URLRequest, _ setup: Setup, port: StreamPort, loop: EventLoop, delegate: any TransferDelegate) {
        self.request = request
        self.port = port
        self.loop = loop
        self.delegate = delegate
        site = setup.site
        state = .ready(setup)
        opening = ChannelOpening(setup.channel, to: request.url)
        metrics = setup.channel.metrics
    }

    func start() throws(URLError) {
        guard case .ready(let setup) = state else { return }
        lastActivity = loop.now
        state = .connecting(try opening.begin(setup.channel, for: self))
    }

    var phase: TransferPhase {
        switch state {
        case .connecting(let channel): channel.phase
        case .open(let connection): connection.phase
        case .ready, .over: .preparing
        }
    }

    var isPaused: Bool { port.isPaused }

    func setPaused(_ isPaused: Bool) {
        if lastActivity != nil { lastActivity = loop.now }
        if isPaused { wasPaused = true }
        port.setPaused(isPaused)
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
        delegate.transfer(self, received: opening.received(tunnelLine: line, on: channel))
    }

    func channelOpened(_ channel: Channel) {
        let connection = StreamConnection(channel, port, to: site, url: request.url, owner: self)
        state = .open(connection)
        lastActivity = nil
        settleMetrics(channel)
        // A stream is open for a long time: other requests needn't wait for its end.
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
        var ending = TransferEnding(isOfNetwork: true)
        ending.wasPaused = wasPaused
        ending.error = opening.error(after: failure, &ending)
        delegate.transferFinished(self, ending)
    }
}

extension StreamTransfer: StreamConnectionOwner {
    func streamSecured(_ session: TLSSession?) {
        metrics?.tls = session
    }

    func streamFinished(_ error: URLError?) {
        state = .over
        delegate.transferFinished(self, TransferEnding(error))
    }
}
