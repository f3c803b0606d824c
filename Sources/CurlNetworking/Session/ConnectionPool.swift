import CurlTransport

/// The part of a session on one event loop: the connections to the origins bound to that loop, the requests waiting for them, and
/// deliveries to the delegate queue. Most sessions have one pool.
///
/// `@unchecked Sendable`: everything is accessed only on the loop, unless noted otherwise. A pool lives as long as its session and the
/// tasks in it; `close()` closes the connections.
final class ConnectionPool: @unchecked Sendable {
    // MARK: Never changes

    /// Counted from 0.
    let index: Int
    let loop: EventLoop
    private let limits: ConnectionLimits
    private let deliveryQueue: DeliveryQueue

    // MARK: Loop only

    /// Unchecked for the same reason as in `Deadline`.
    @exclusivity(unchecked) var admission: Admission
    private(set) var multi: Multi?
    private var ftp: FTPConnections?
    /// For web sockets, since libcurl's limits are for connections that it can share or close.
    private(set) var channels: Multi?
    /// Multis that finish their transfers but get no new ones.
    private(set) var retiredMultis: [Multi] = []
    private var admitted: [Admission.Ticket] = []
    var handshakes = HandshakeScopes()
    private var deliveries: [DeliveryQueue.Delivery] = []
    private(set) lazy var connectivityWaiters = ConnectivityWaiters(loop: loop)

    init(
        index: Int,
        on loop: EventLoop,
        settings: SessionSettings,
        limits: ConnectionLimits,
        deliveryQueue: DeliveryQueue
    ) {
        self.index = index
        self.loop = loop
        self.limits = limits
        self.deliveryQueue = deliveryQueue
        admission = Admission(total: limits.total) { ConnectionPlan(settings, for: $0, on: loop) }
        // libcurl's handles keep addresses that they are told, and so the memory for them, as long as they exist.
        admission.didForgetAddresses = { [unowned self] in retireConnections() }
    }

    /// Unbinds origins that the pool forgets, so other loops can take them. Called once, before the pool is used.
    func releaseForgottenOrigins(of binding: OriginBinding) {
        admission.didForget = { [index] in binding.release(from: index, allBut: $0) }
    }

    /// Unbinds origins that no request has entered the pool for. Any thread.
    func releaseUnknownOrigins() {
        loop.submit { self.admission.didForget?(Set(self.admission.hosts.keys)) }
    }

    // MARK: - Connections

    /// Any thread.
    func close() {
        loop.submit {
            self.multi?.close()
            self.multi = nil
            self.retiredMultis += self.handshakes.takeMultis()
            self.retiredMultis.closeAll()
            self.ftp.take()?.close()
            self.channels.take()?.close()
        }
    }

    /// Makes later requests use new connections; idle ones are closed.
    func renewConnections() {
        retireConnections()
        retiredMultis.closeIdle()
    }

    /// The same, but the idle ones are closed when the next request leaves.
    private func retireConnections() {
        if let multi { retiredMultis.append(multi) }
        multi = nil
        retiredMultis += handshakes.takeMultis()
        ftp?.renew()
    }

    /// Makes delegates decide about handshakes again. No connection outlives the decisions it was made with, since its responses are judged
    /// by them.
    func forgetDecisions() {
        handshakes.forgetDecisions()
        renewConnections()
    }

    /// Notes a delegate's decision about `origin`. If there is no room for it, all decisions are forgotten first.
    func note(_ decision: HandshakeDecision, about origin: Origin, in scope: HandshakeScope) {
        if scope.coordinator.isFull(for: origin) { forgetDecisions() }
        scope.coordinator.note(decision, about: origin)
    }

    func currentMulti() throws(TransferFailure) -> Multi {
        if let multi { return multi }
        let multi = try Multi(loop: loop, limits: limits)
        self.multi = multi
        return multi
    }

    /// The multi handle for a transfer whose handshake follows `decider`'s decisions.
    func multi(for decider: HandshakeDecider) throws(TransferFailure) -> Multi {
        guard case .task = decider else { return try currentMulti() }
        let scope = handshakes.scope(of: decider)
        if let multi = scope.multi { return multi }
        let multi = try Multi(loop: loop, limits: limits)
        scope.multi = multi
        retiredMultis += handshakes.removeSuperfluous()
        return multi
    }

    /// The multi handle for a new channel, whichever delegate decides about its handshake, since nothing else uses its connection.
    func channelMulti() throws(TransferFailure) -> Multi {
        if let channels { return channels }
        let multi = try Multi(loop: loop, limits: ConnectionLimits(kept: limits.kept))
        channels = multi
        return multi
    }

    var ftpConnections: FTPConnections {
        if let ftp { return ftp }
        let connections = FTPConnections(limits: ConnectionLimits(kept: limits.kept))
        ftp = connections
        return connections
    }

    // MARK: - Deliveries

    /// Runs `delivery` on the delegate queue, together with all others of this round.
    func deliverAtEndOfRound(_ delivery: DeliveryQueue.Delivery) {
        deliveries.append(delivery)
        guard deliveries.count == 1 else { return }
        loop.atEndOfRound {
            self.deliveryQueue.add(self.deliveries)
            self.deliveries.removeAll(keepingCapacity: true)
        }
    }

    // MARK: - Admission

    /// True if the ticket's owner may start at once; otherwise `admitted` is called when it may.
    func enter(_ ticket: Admission.Ticket, priority: Float) -> Bool {
        let others = admission.enter(ticket, priority: priority)
        let isAdmitted = ticket.isAdmitted
        // One of them may fail at once and leave its place to this ticket, whose owner is then called.
        start(others)
        return isAdmitted
    }

    func setPriority(_ priority: Float, of ticket: Admission.Ticket) {
        start(admission.setPriority(priority, of: ticket))
    }

    /// Gives up the ticket's place or its wait, and starts the tickets that may start instead.
    func leave(_ ticket: Admission.Ticket) {
        if !retiredMultis.isEmpty { retiredMultis.closeIdle() }
        endResponseTimeout(with: ticket)
        start(admission.leave(ticket))
    }

    func connectionProfile(for ticket: Admission.Ticket) -> ConnectionProfile? {
        admission.plan(for: ticket)?.profile
    }

    func route(for ticket: Admission.Ticket) -> ProxyRoute {
        admission.plan(for: ticket)?.route ?? .direct
    }

    /// Whether requests to the ticket's origin go through a tunnel, so that the proxy doesn't see them.
    func usesTunnel(for ticket: Admission.Ticket) -> Bool {
        admission.plan(for: ticket)?.usesTunnel ?? false
    }

    /// Whether libcurl counts the connections to the ticket's origin together with others, so that its limit for each host would apply to
    /// all of them.
    func isCountedWithOthers(_ ticket: Admission.Ticket) -> Bool {
        admission.plan(for: ticket)?.isCountedWithOthers ?? false
    }

    func received(bodyOf size: Int, for ticket: Admission.Ticket) {
        admission.received(bodyOf: size, for: ticket)
    }

    func receiveBufferSize(for ticket: Admission.Ticket) -> Int {
        admission.receiveBufferSize(for: ticket)
    }

    /// Starting a ticket can fail at once and let the next one start; iterative rather than recursive, since any number may wait.
    func start(_ tickets: [Admission.Ticket]) {
        guard !tickets.isEmpty else { return }
        let isStarting = !admitted.isEmpty
        admitted.append(contentsOf: tickets)
        guard !isStarting else { return }
        var index = 0
        while index < admitted.count {
            admitted[index].owner.admitted(admitted[index])
            index += 1
        }
        admitted.removeAll()
    }
}

/// Multis that have been replaced.
extension [Multi] {
    /// Closes and removes those whose transfers have ended.
    mutating func closeIdle() {
        removeAll { multi in
            guard multi.transferCount == 0 else { return false }
            multi.close()
            return true
        }
    }

    mutating func closeAll() {
        for multi in self { multi.close() }
        removeAll()
    }
}
