import CurlTransport

/// Owns a place at a host. Loop only.
protocol HostPlaceOwner: AnyObject {
    /// The connection pool that the task is on.
    var pool: ConnectionPool { get }
    /// The place has become available. False if it isn't wanted any more.
    func placeGranted() -> Bool
}

/// The place at a host that a task has or waits for. It is kept across redirects within an origin. Loop only.
final class HostPlace: AdmissionTicketOwner {
    /// nil if the task neither has a place nor waits for one.
    private(set) var ticket: Admission.Ticket?
    private unowned let owner: any HostPlaceOwner

    init(_ owner: any HostPlaceOwner) {
        self.owner = owner
    }

    func isAt(_ origin: Origin) -> Bool { ticket?.origin == origin }

    /// Takes a place at `origin`, or waits for it: that which the task has, if it is there already. The owner hears of it at once if it is
    /// available.
    func enter(_ origin: Origin, priority: Float) {
        if isAt(origin) { return admitted() }
        leave()
        let ticket = Admission.Ticket(origin: origin, owner: self)
        self.ticket = ticket
        if owner.pool.enter(ticket, priority: priority) { admitted() }
    }

    func admitted(_ ticket: Admission.Ticket) {
        guard ticket === self.ticket else { return owner.pool.leave(ticket) }
        admitted()
    }

    /// The place is available.
    private func admitted() {
        if !owner.placeGranted() { leave() }
    }

    /// Gives up the place, or the wait for it.
    func leave() {
        if let ticket = ticket.take() { owner.pool.leave(ticket) }
    }

    /// The request that held the place has failed: see `AdmissionHost.leave`.
    func noteFailure() {
        ticket?.hasFailed = true
    }

    func setPriority(_ priority: Float) {
        if let ticket { owner.pool.setPriority(priority, of: ticket) }
    }

    /// Tells the session what a transfer has learnt about the connection to its origin.
    func note(_ report: ConnectionReport) {
        guard let ticket else { return }
        if case .established(let negotiated) = report.establishment {
            owner.pool.noteConnection(ticket, negotiated: negotiated)
        }
        if let version = report.answeredVersion { owner.pool.noteAnswer(ticket, in: version) }
    }

    /// A body of this many bytes has arrived over the connection.
    func note(bodyOf size: Int) {
        if let ticket { owner.pool.received(bodyOf: size, for: ticket) }
    }
}
