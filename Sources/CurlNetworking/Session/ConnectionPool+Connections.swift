import CurlTransport
import Foundation

// The choice of a pool's connection for a request, and the reports about connections. Everything runs on the loop.

/// The connections that a request may use.
enum ConnectionChoice {
    case any
    /// Any, after another wait in the queue: the last one was shared and is gone, and so will the next one be shared.
    case requeued
    /// A connection other than the kept ones, one of which was dead.
    case new
    /// A separate connection, since shared ones repeatedly had no room for the request.
    case own
}

extension ConnectionPool {
    /// Sets up `options` for connections to the ticket's origin.
    ///
    /// Throws if the request's head is larger than libcurl can send, or than the HTTP version set for the origin can carry.
    func choose(
        _ options: inout TransferOptions,
        for ticket: Admission.Ticket,
        choice: ConnectionChoice
    ) throws(URLError) {
        guard let plan = admission.plan(for: ticket) else { return }
        let headSize = options.headSize
        try Self.checkSize(headSize, of: options, plan.quirks)
        let multiplexes = admission.isKnownToMultiplex(ticket)
        options.reportsConnection = admission.isAwaited(ticket) || multiplexes && plan.quirks.forgetsWaiting
        if plan.sharesWhenAnswered, options.closing == .never { options.closing = .unlessAnswered }
        options.hasPriorKnowledge = plan.hasPriorKnowledge
        options.connection = plan.profile
        options.connections = plan.connections
        chooseReuse(&options, for: ticket, plan, choice, multiplexes: multiplexes)
        guard multiplexes || plan.mayMultiplex else { return }
        if plan.quirks.forgetsHTTP2Input { options.receiveBufferSize = ReceiveBuffer.multiplexed }
        try chooseVersion(&options, for: ticket, plan, headSize: headSize)
    }

    private static func checkSize(
        _ headSize: Int,
        of options: TransferOptions,
        _ quirks: CurlQuirks
    ) throws(URLError) {
        if headSize > largestHead { throw sizeError(options) }
        if quirks.dropsLargeFields, options.headers.contains(where: { $0.utf8.count > largestField }) {
            let description = "A field of the request is too large for libcurl."
            throw URLError(.dataLengthExceedsMaximum, url: URL(string: options.url), description)
        }
    }

    /// - Parameter multiplexes: Whether the origin is known to.
    private func chooseReuse(
        _ options: inout TransferOptions,
        for ticket: Admission.Ticket,
        _ plan: ConnectionPlan,
        _ choice: ConnectionChoice,
        multiplexes: Bool
    ) {
        let reuse = multiplexes && !admission.hasOverdue(at: ticket) ? TransferOptions.Reuse.awaited : .possible
        let needsHTTP1 = options.connectionAuthentication != nil
        options.reuse =
            switch choice {
            case .any, .requeued: reuse
            // If one idle HTTP/1.1 connection is dead, the others may be, too; a multiplexed one is known to be dead, and isn't chosen
            // again.
            case .new: multiplexes && !plan.hasPriorKnowledge && !needsHTTP1 ? reuse : .none
            case .own: .none
            }
        guard plan.joinsPriorKnowledge, options.reuse != .none else { return }
        // If a cancelled request has left a place on an established connection, a request that others wait for doesn't take it.
        let joins = !admission.isAwaited(ticket) && plan.connections?.hasPriorKnowledge == true
        if joins { options.versionOverride = .joinsPriorKnowledge } else { options.reuse = .none }
    }

    /// Keeps a request off HTTP/2, which the origin may speak, if it wouldn't get through. Called after `chooseReuse`.
    private func chooseVersion(
        _ options: inout TransferOptions,
        for ticket: Admission.Ticket,
        _ plan: ConnectionPlan,
        headSize: Int
    ) throws(URLError) {
        ticket.isKeptOffHTTP2 = false
        if headSize > Self.largestHTTP2Head {
            guard !plan.hasPriorKnowledge else {
                let description = "The request's head is too large for HTTP/2."
                throw URLError(.dataLengthExceedsMaximum, url: URL(string: options.url), description)
            }
            options.speakHTTP1()
        } else if options.sendsBody, !plan.hasPriorKnowledge, admission.keepsUploadsOffHTTP2(ticket, at: loop.now) {
            options.speakHTTP1()
            ticket.isKeptOffHTTP2 = true
            options.reportsConnection = true
            // If kept, its version would be taken for the origin's.
            options.closing = .always
            start(admission.keptApart(ticket))
        }
    }

    /// Whether the ticket's requests share connections that speak HTTP/2 by prior knowledge. libcurl itself doesn't have them wait for one.
    func sharesPriorKnowledge(_ ticket: Admission.Ticket) -> Bool {
        admission.plan(for: ticket)?.hasPriorKnowledge == true && admission.isKnownToMultiplex(ticket)
    }

    /// Notes that libcurl lost the origin's response to an upload over HTTP/2; see `ReplayPolicy.isLossOfResponse`.
    func noteLostResponse(of origin: Origin) {
        admission.noteLostResponse(of: origin, at: loop.now)
    }

    /// Notes that a server that speaks HTTP/2 didn't respond to an upload that was kept off it.
    func noteSilence(of origin: Origin) {
        admission.noteSilence(of: origin)
    }

    /// Sets up `options` for a channel to the ticket's origin, and starts the requests that wait for a connection they can share.
    func prepare(_ options: inout ChannelOptions, for ticket: Admission.Ticket) {
        guard let plan = admission.plan(for: ticket) else { return }
        options.connection = plan.profile
        options.connections = plan.channels
        start(admission.keptApart(ticket))
    }

    private static func sizeError(_ options: TransferOptions) -> URLError {
        let url = URL(string: options.url)
        guard options.url.utf8.count <= largestHead else { return URLError(.badURL, url: url, "The URL is too long.") }
        return URLError(.dataLengthExceedsMaximum, url: url, "The request's head is too large for libcurl.")
    }

    /// libcurl's request buffer holds 1 MiB, including the lines that libcurl adds; for more, it would report a lack of memory.
    private static let largestHead = 1000 * 1024
    private static let largestField = 300 * 1024

    /// libcurl's HTTP/2 library sends no head of more than 64 KiB, but libcurl would still wait for a response.
    private static let largestHTTP2Head = 60 * 1024

    /// Notes that the ticket's connection is established, with the protocol `negotiated` by TLS (RFC 7301); nil if unknown.
    func noteConnection(_ ticket: Admission.Ticket, negotiated: String?) {
        // A server that agrees to HTTP/1.1 speaks it: if it then doesn't respond to an upload, that has another reason.
        if negotiated == "http/1.1" { ticket.isKeptOffHTTP2 = false }
        guard admission.isAwaited(ticket) else { return }
        guard let plan = admission.plan(for: ticket), !plan.sharesWhenAnswered else { return awaitResponse(of: ticket) }
        let multiplexes = plan.hasPriorKnowledge ? true : negotiated.map { $0 != "http/1.1" && $0 != "http/1.0" }
        start(admission.connected(ticket, multiplexes: multiplexes))
    }

    /// Lets other requests open connections of their own if the first response on the ticket's takes longer than opening another would.
    private func awaitResponse(of ticket: Admission.Ticket) {
        guard ticket.responseTimeout == nil else { return }
        let responseTimeout = Deadline { [unowned self, weak ticket] in
            if let ticket { start(admission.overdue(ticket)) }
        }
        ticket.responseTimeout = responseTimeout
        loop.schedule(responseTimeout, at: loop.now + Self.responseTimeout)
    }

    private static let responseTimeout = Duration.seconds(1)

    func endResponseTimeout(with ticket: Admission.Ticket) {
        if let responseTimeout = ticket.responseTimeout.take() { loop.cancel(responseTimeout) }
    }

    /// Notes that the ticket's origin responded in `version`, as written in the response's head.
    func noteResponse(_ ticket: Admission.Ticket, in version: String) {
        endResponseTimeout(with: ticket)
        start(admission.answered(ticket, in: version))
    }

    /// The open connections and waiting requests of each origin that the pool remembers. Any thread.
    var connectionSnapshot: [OriginConnections] {
        get async {
            await withCheckedContinuation { continuation in
                loop.submit { continuation.resume(returning: self.makeConnectionSnapshot()) }
            }
        }
    }

    private func makeConnectionSnapshot() -> [OriginConnections] {
        var usage = ConnectionUsage()
        multi?.add(to: &usage)
        for multi in handshakes.multis + retiredMultis { multi.add(to: &usage) }
        return admission.hosts
            .compactMap { origin, host in OriginConnections(origin, host, usage, eventLoop: index) }
    }
}

extension TransferOptions {
    /// Approximate, in bytes.
    fileprivate var headSize: Int { headers.reduce(url.utf8.count) { $0 + $1.utf8.count } }

    fileprivate mutating func speakHTTP1() {
        versionOverride = .http1
        if reuse == .awaited { reuse = .possible }
    }
}

extension OriginConnections {
    /// nil if the session doesn't count the origin's connections.
    fileprivate init?(_ origin: Origin, _ host: AdmissionHost, _ usage: ConnectionUsage, eventLoop: Int) {
        guard let group = host.plan.connections, !origin.isFTP else { return nil }
        // Each channel has a task.
        let channels = host.plan.channels?.openCount ?? 0
        let inUse = group.inUseCount(usage) + channels
        self.init(
            scheme: origin.scheme.rawValue,
            host: origin.host,
            port: origin.port,
            open: group.openCount + channels,
            inUse: inUse,
            running: host.admitted,
            waiting: host.waiting.count,
            reuseCount: group.reuseCount,
            protocolName: host.version.flatMap(Self.protocolName),
            eventLoop: eventLoop
        )
    }

    /// The ALPN identifier (RFC 7301) for a version as written in a response's head.
    private static func protocolName(_ version: String) -> String? {
        switch version {
        case "HTTP/1.0": "http/1.0"
        case "HTTP/1.1": "http/1.1"
        case "HTTP/2", "HTTP/2.0": "h2"
        case "HTTP/3": "h3"
        default: nil
        }
    }
}
