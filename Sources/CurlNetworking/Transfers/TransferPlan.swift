import CurlTransport
import Foundation

/// The plan for a transfer. The loader makes one for each request, its steps complete it, and then it makes the transfer. Loop only.
struct TransferPlan {
    let request: URLRequest
    /// The admission to the request's host; nil for local resources, which need none.
    let ticket: Admission.Ticket?
    /// Closed by the plan until the transfer takes it over.
    private(set) var body: (any RequestBody)?
    /// libcurl's options for an HTTP request; nil for other schemes.
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
        _ ticket: Admission.Ticket?,
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
            body: body,
            settings: settings,
            keepsCredentials: keepsCredentials
        )
    }

    /// Everyone involved in every transfer of a task.
    struct Participants {
        let pool: ConnectionPool
        let settings: SessionSettings
        let hooks: TransferHooks?
        /// Whether metrics may be wanted.
        let isMeasured: Bool
        let delegate: any TransferDelegate
        /// The reads and writes of a stream task.
        var port: StreamPort?
        /// A delegate decides about the response, and may make a stream of it.
        var decidesOnResponse = false
    }

    /// - Parameter bufferSize: In bytes: the most that libcurl reads at once.
    mutating func makeTransfer(_ participants: Participants, bufferSize: Int) throws(URLError) -> any Transfer {
        guard let ticket else {
            return try LocalTransfer(request, loop: participants.pool.loop, delegate: participants.delegate)
        }
        // Taken rather than copied: they have dozens of strings.
        guard let options = options.take() else { return try makeFTPTransfer(participants, ticket) }
        if let webSocket { return try makeWebSocketTransfer(participants, ticket, options, webSocket) }
        if let port = participants.port { return try makeStreamTransfer(participants, ticket, options, port) }
        if mayUpgrade(participants, ticket, options) { return try makeUpgradeTransfer(participants, ticket, options) }
        return try makeHTTPTransfer(participants, ticket, options, bufferSize)
    }

    /// Whether a 101 may make a stream of the connection. A proxy that reads the request doesn't pass its `Upgrade` on (RFC 9110 §7.6.1).
    private func mayUpgrade(
        _ participants: Participants,
        _ ticket: Admission.Ticket,
        _ options: TransferOptions
    ) -> Bool {
        guard participants.decidesOnResponse, request.asksForUpgrade, options.connectionAuthentication == nil else {
            return false
        }
        return options.usesTunnel || participants.pool.route(for: ticket).server?.isSOCKS ?? true
    }

    private func makeHTTPTransfer(
        _ participants: Participants,
        _ ticket: Admission.Ticket,
        _ options: consuming TransferOptions,
        _ bufferSize: Int
    ) throws(URLError) -> HTTPTransfer {
        let pool = participants.pool
        try pool.choose(&options, for: ticket, choice: connection)
        options.connectTimeout = participants.settings.idleTimeout(for: request)
        options.receiveBufferSize = bufferSize
        let multi: Multi
        do throws(TransferFailure) {
            if let decider { multi = try pool.multi(for: decider) } else { multi = try pool.currentMulti() }
        } catch {
            throw URLError(error, of: participants.hooks, url: request.url)
        }
        let order = HTTPTransfer.Order(
            options: options,
            hooks: participants.hooks,
            multi: multi,
            throughProxy: participants.isMeasured ? pool.route(for: ticket).server != nil : nil
        )
        return HTTPTransfer(request, body: body, order, loop: pool.loop, delegate: participants.delegate)
    }

    private func makeWebSocketTransfer(
        _ participants: Participants,
        _ ticket: Admission.Ticket,
        _ options: TransferOptions,
        _ exchange: WebSocketExchange
    ) throws(URLError) -> WebSocketTransfer {
        guard options.connectionAuthentication == nil else {
            let description = "A web socket's handshake can't be authenticated by NTLM or Negotiate."
            throw URLError(.userAuthenticationRequired, request.url, description)
        }
        let handshake = WebSocketHandshake(exchange.offer)
        let order = WebSocketTransfer.Order(
            channel: try channelOrder(makeChannelOptions(participants, ticket, options), participants, ticket),
            handshake: handshake,
            head: handshake.request(
                target: options.target,
                host: ticket.origin.hostField,
                lines: options.headersWithCredentials
            ),
            countsInLimits: participants.settings.webSockets.countInConnectionLimits,
            closeTimeout: participants.settings.webSockets.closeTimeout
        )
        return WebSocketTransfer(
            request,
            exchange,
            order,
            loop: participants.pool.loop,
            delegate: participants.delegate
        )
    }

    private func makeUpgradeTransfer(
        _ participants: Participants,
        _ ticket: Admission.Ticket,
        _ options: TransferOptions
    ) throws(URLError) -> UpgradeTransfer {
        var head = RequestHead(
            method: options.method,
            target: options.target,
            host: ticket.origin.hostField,
            lines: options.headersWithCredentials
        )
        if !head.fields.contains("Accept") { head.fields.insert(HeaderField(name: "Accept", value: "*/*"), at: 0) }
        if !head.fields.contains("Connection") { head.add("Connection", "Upgrade") }
        let order = UpgradeTransfer.Order(
            channel: try channelOrder(makeChannelOptions(participants, ticket, options), participants, ticket),
            head: head,
            site: makeSite(participants, ticket, isSecure: ticket.origin.scheme.isSecure)
        )
        return UpgradeTransfer(
            request,
            body: body,
            order,
            loop: participants.pool.loop,
            delegate: participants.delegate
        )
    }

    private func makeChannelOptions(
        _ participants: Participants,
        _ ticket: Admission.Ticket,
        _ options: TransferOptions
    ) -> ChannelOptions {
        var channel = ChannelOptions(options)
        channel.isPlain = !ticket.origin.scheme.isSecure && isPlain(participants, ticket)
        participants.pool.prepare(&channel, for: ticket)
        channel.connectTimeout = participants.settings.idleTimeout(for: request)
        return channel
    }

    /// Whether nothing but a secure scheme comes between this side and the server: neither a proxy nor what a program has told libcurl itself,
    /// and no trace wants to see the bytes.
    private func isPlain(_ participants: Participants, _ ticket: Admission.Ticket) -> Bool {
        !participants.settings.hasHooks && participants.pool.route(for: ticket).server == nil
    }

    private func channelOrder(
        _ options: ChannelOptions,
        _ participants: Participants,
        _ ticket: Admission.Ticket
    ) throws(URLError) -> ChannelOpening.Order {
        let pool = participants.pool
        do throws(TransferFailure) {
            return ChannelOpening.Order(
                options: options,
                hooks: participants.hooks,
                multi: try pool.channelMulti(),
                throughProxy: participants.isMeasured ? pool.route(for: ticket).server != nil : nil
            )
        } catch {
            throw URLError(error, of: participants.hooks, url: request.url)
        }
    }

    /// - Parameter isSecure: Whether libcurl speaks TLS with the server.
    private func makeSite(
        _ participants: Participants,
        _ ticket: Admission.Ticket,
        isSecure: Bool
    ) -> StreamConnection.Site {
        let settings = participants.settings
        return StreamConnection.Site(
            peer: settings.tls.peer(at: ticket.origin, settings.hosts),
            origin: ticket.origin,
            handshakeTimeout: settings.idleTimeout(for: request),
            isEncrypted: isSecure || participants.pool.route(for: ticket).server?.scheme == .https
        )
    }

    /// - Parameter options: Of these, what is for a proxy.
    private func makeStreamTransfer(
        _ participants: Participants,
        _ ticket: Admission.Ticket,
        _ options: TransferOptions,
        _ port: StreamPort
    ) throws(URLError) -> StreamTransfer {
        let (pool, settings, origin) = (participants.pool, participants.settings, ticket.origin)
        var channel = ChannelOptions(url: "http://\(NameRules.bracketed(origin.host)):\(origin.port)", .none)
        channel.connectTimeout = settings.idleTimeout(for: request)
        channel.isPlain = isPlain(participants, ticket)
        pool.prepare(&channel, for: ticket)
        (channel.usesTunnel, channel.tunnelHeaders) = (options.usesTunnel, options.tunnelHeaders)
        channel.proxyAuthentication = options.proxyAuthentication
        let order = StreamTransfer.Order(
            channel: try channelOrder(channel, participants, ticket),
            site: makeSite(participants, ticket, isSecure: false)
        )
        return StreamTransfer(request, order, port: port, loop: pool.loop, delegate: participants.delegate)
    }

    private func makeFTPTransfer(
        _ participants: Participants,
        _ ticket: Admission.Ticket
    ) throws(URLError) -> FTPTransfer {
        let pool = participants.pool
        var options = try RequestEncoder.ftpOptions(
            for: request,
            body: body,
            offset: offset,
            replyTimeout: participants.settings.idleTimeout(for: request)
        )
        options.connection = pool.connectionProfile(for: ticket)
        return FTPTransfer(
            options,
            for: request,
            body: body,
            hooks: participants.hooks,
            connections: pool.ftpConnections,
            loop: pool.loop,
            delegate: participants.delegate
        )
    }
}

extension ChannelOptions {
    /// The same connection as a request's, for HTTP/1.1.
    fileprivate init(_ options: TransferOptions) {
        self.init(url: options.url, .http1)
        inquiry = options.inquiry
        usesTunnel = options.usesTunnel
        tunnelHeaders = options.tunnelHeaders
        proxyAuthentication = options.proxyAuthentication
    }
}

extension TransferOptions {
    /// Where libcurl would add what the URL says of user name and password.
    fileprivate var headersWithCredentials: [String] {
        guard let credentials else { return headers }
        let credential = Credential(user: credentials.user, password: credentials.password)
        return headers + ["Authorization: \(credential.basicToken)"]
    }
}

extension Origin {
    /// For the field `Host` (RFC 9110 §7.2).
    fileprivate var hostField: String {
        if isUnixSocket { return UnixSocketURL.authority }
        let host = host.contains(":") ? "[\(host)]" : host
        return port == scheme.defaultPort ? host : "\(host):\(port)"
    }
}
