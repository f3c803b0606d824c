import CurlTransport
import Foundation

/// Makes the transfer that a plan describes. Loop only.
struct TransferFactory {
    private let plan: TransferPlan
    private let environment: TransferEnvironment
    private let ticket: Admission.Ticket

    private var request: URLRequest { plan.request }
    private var pool: ConnectionPool { environment.pool }
    private var settings: SessionSettings { environment.settings }
    private var route: ProxyRoute { pool.route(for: ticket) }

    private init(_ plan: TransferPlan, in environment: TransferEnvironment, _ ticket: Admission.Ticket) {
        (self.plan, self.environment, self.ticket) = (plan, environment, ticket)
    }

    /// - Parameter bufferSize: In bytes: the most that libcurl reads at once.
    static func make(
        _ plan: TransferPlan,
        in environment: TransferEnvironment,
        bufferSize: Int
    ) throws(URLError) -> any Transfer {
        guard let ticket = plan.ticket else {
            return try LocalTransfer(plan.request, loop: environment.pool.loop, delegate: environment.delegate)
        }
        return try TransferFactory(plan, in: environment, ticket).make(bufferSize)
    }

    private func make(_ bufferSize: Int) throws(URLError) -> any Transfer {
        // Taken, not copied.
        guard let options = plan.options.take() else { return try makeFTPTransfer() }
        if let webSocket = plan.webSocket { return try makeWebSocketTransfer(options, webSocket) }
        if let port = environment.port { return try makeStreamTransfer(options, port) }
        if mayUpgrade(options) { return try makeUpgradeTransfer(options) }
        return try makeHTTPTransfer(options, bufferSize)
    }

    /// Whether a 101 may make a stream of the connection. A proxy that reads the request doesn't forward its `Upgrade` (RFC 9110 §7.6.1).
    private func mayUpgrade(_ options: TransferOptions) -> Bool {
        guard environment.decidesOnResponse, request.asksForUpgrade, options.connectionAuthentication == nil else {
            return false
        }
        return options.proxy.usesTunnel || route.server?.isSOCKS ?? true
    }

    /// The transfer's metrics as it begins; nil if they aren't wanted.
    private var metrics: HopMetrics? {
        guard environment.isMeasured else { return nil }
        var metrics = HopMetrics(request)
        metrics.isProxyConnection = route.server != nil
        return metrics
    }

    // MARK: - libcurl's transfers

    private func makeHTTPTransfer(
        _ options: consuming TransferOptions,
        _ bufferSize: Int
    ) throws(URLError) -> HTTPTransfer {
        try pool.choose(&options, for: ticket, choice: plan.connection)
        options.connectTimeout = settings.idleTimeout(for: request)
        options.receiveBufferSize = max(options.receiveBufferSize, bufferSize)
        let multi: Multi
        do throws(TransferFailure) {
            if let decider = plan.decider {
                multi = try pool.multi(for: decider)
            } else {
                multi = try pool.currentMulti()
            }
        } catch {
            throw URLError(error, of: environment.hooks, url: request.url)
        }
        if pool.isCountedWithOthers(ticket) { multi.liftHostLimit() }
        return HTTPTransfer(
            request,
            body: plan.body,
            HTTPTransferSetup(options: options, hooks: environment.hooks, multi: multi),
            meter: metrics.map(HopMeter.init),
            loop: pool.loop,
            delegate: environment.delegate
        )
    }

    private func makeFTPTransfer() throws(URLError) -> FTPTransfer {
        var options = try RequestEncoder.ftpOptions(
            for: request,
            at: ticket.origin,
            body: plan.body,
            offset: plan.offset,
            replyTimeout: settings.idleTimeout(for: request)
        )
        options.connection = pool.connectionProfile(for: ticket)
        return FTPTransfer(
            options,
            for: request,
            body: plan.body,
            hooks: environment.hooks,
            connections: pool.ftpConnections,
            loop: pool.loop,
            delegate: environment.delegate
        )
    }

    // MARK: - Transfers on a channel

    private func makeWebSocketTransfer(
        _ options: TransferOptions,
        _ exchange: WebSocketExchange
    ) throws(URLError) -> WebSocketTransfer {
        guard options.connectionAuthentication == nil else {
            let description = "A web socket's handshake can't be authenticated by NTLM or Negotiate."
            throw URLError(.userAuthenticationRequired, url: request.url, description)
        }
        let handshake = WebSocketHandshake(exchange.offer)
        let setup = WebSocketTransfer.Setup(
            channel: try channelSetup(requestChannel(options)),
            handshake: handshake,
            head: handshake.request(
                target: options.target,
                host: ticket.origin.hostField,
                lines: options.headersWithCredentials
            ),
            countsInLimits: settings.webSockets.countInConnectionLimits,
            closeTimeout: settings.webSockets.closeTimeout
        )
        return WebSocketTransfer(request, exchange, setup, loop: pool.loop, delegate: environment.delegate)
    }

    private func makeUpgradeTransfer(_ options: TransferOptions) throws(URLError) -> UpgradeTransfer {
        var head = RequestHead(
            method: options.method,
            target: options.target,
            host: ticket.origin.hostField,
            lines: options.headersWithCredentials
        )
        if !head.fields.contains("Accept") { head.fields.insert(HeaderField(name: "Accept", value: "*/*"), at: 0) }
        if !head.fields.contains("Connection") { head.add("Connection", "Upgrade") }
        let setup = UpgradeTransfer.Setup(
            channel: try channelSetup(requestChannel(options)),
            head: head,
            site: site(isSecure: ticket.origin.scheme.isSecure)
        )
        return UpgradeTransfer(
            request,
            body: plan.body,
            setup,
            loop: pool.loop,
            delegate: environment.delegate
        )
    }

    /// - Parameter options: Only those for a proxy are used.
    private func makeStreamTransfer(
        _ options: TransferOptions,
        _ port: StreamPort
    ) throws(URLError) -> StreamTransfer {
        let origin = ticket.origin
        var channel = ChannelOptions(url: "http://\(origin.authority)", .none)
        channel.connectTimeout = settings.idleTimeout(for: request)
        channel.isPlain = isDirectAndUnobserved
        pool.prepare(&channel, for: ticket)
        channel.proxy = options.proxy
        let setup = StreamTransfer.Setup(channel: try channelSetup(channel), site: site(isSecure: false))
        return StreamTransfer(request, setup, port: port, loop: pool.loop, delegate: environment.delegate)
    }

    /// The channel of a request that we send ourselves.
    private func requestChannel(_ options: TransferOptions) -> ChannelOptions {
        var channel = ChannelOptions(options)
        channel.isPlain = !ticket.origin.scheme.isSecure && isDirectAndUnobserved
        pool.prepare(&channel, for: ticket)
        channel.connectTimeout = settings.idleTimeout(for: request)
        return channel
    }

    /// Whether there is no proxy on the way to the server, and neither the program's own libcurl options nor a trace.
    private var isDirectAndUnobserved: Bool { !settings.hasHooks && route.server == nil }

    private func channelSetup(_ options: ChannelOptions) throws(URLError) -> ChannelOpening.Setup {
        do throws(TransferFailure) {
            return ChannelOpening.Setup(
                options: options,
                hooks: environment.hooks,
                multi: try pool.channelMulti(),
                metrics: metrics
            )
        } catch {
            throw URLError(error, of: environment.hooks, url: request.url)
        }
    }

    /// - Parameter isSecure: Whether libcurl speaks TLS with the server.
    private func site(isSecure: Bool) -> StreamConnection.Site {
        StreamConnection.Site(
            peer: Result { () throws(TransferFailure) in try settings.tls.peer(at: ticket.origin) },
            hooks: environment.hooks,
            origin: ticket.origin,
            handshakeTimeout: settings.idleTimeout(for: request),
            isEncrypted: isSecure || route.server?.scheme == .https
        )
    }
}

extension ChannelOptions {
    /// The same connection as a request's, for HTTP/1.1.
    fileprivate init(_ options: TransferOptions) {
        self.init(url: options.url, .http1)
        inquiry = options.inquiry
        proxy = options.proxy
    }
}

extension TransferOptions {
    /// `headers`, with the URL's user name and password added where libcurl would.
    fileprivate var headersWithCredentials: [String] {
        guard let credentials else { return headers }
        let credential = Credential(user: credentials.user, password: credentials.password)
        return headers + ["Authorization: \(credential.basicToken)"]
    }
}
