import CurlTransport

/// Who has a place at a host. Loop only.
protocol HostPlaceOwner: AnyObject {
    /// The connection pool that the task is on.
    var pool: ConnectionPool { get }
    /// The place that was waited for is there. False where it isn't wanted any more.
    func placeGranted() -> Bool
}

/// The place at a host that a task has or waits for. A redirect within an origin keeps it. Loop only.
final class HostPlace: AdmissionTicketOwner {
    /// nil where the task neither has a place nor waits for one.
    private(set) var ticket: Admission.Ticket?
    private unowned let owner: any HostPlaceOwner

    init(_ owner: any HostPlaceOwner) {
        self.owner = owner
    }

    func isAt(_ origin: Origin) -> Bool { ticket?.origin == origin }

    /// Has the task wait for a place; true where there is one at once.
    func enter(_ origin: Origin, priority: Float) -> Bool {
        let ticket = Admission.Ticket(origin: origin, owner: self)
        self.ticket = ticket
        return owner.pool.enter(ticket, priority: priority)
    }

    func admitted(_ ticket: Admission.Ticket) {
        guard ticket === self.ticket else { return owner.pool.leave(ticket) }
        admitted()
    }

    /// The place is there.
    func admitted() {
        if !owner.placeGranted() { leave() }
    }

    /// Gives up the place, or the waiting for it.
    func leave() {
        if let ticket = ticket.take() { owner.pool.leave(ticket) }
    }

    /// The request that had the place has failed: see `AdmissionHost.leave`.
    func noteFailure() {
        ticket?.hasFailed = true
    }

    func setPriority(_ priority: Float) {
        if let ticket { owner.pool.setPriority(priority, of: ticket) }
    }

    /// Tells the session what a transfer has found out about the connection to its origin.
    func note(_ report: ConnectionReport) {
        guard let ticket else { return }
        if case .established(let negotiated) = report.establishment {
            owner.pool.noteConnection(ticket, negotiated: negotiated)
        }
        if let version = report.answeredVersion { owner.pool.noteAnswer(ticket, in: version) }
    }

    /// A body of so many bytes has come over the connection.
    func note(bodyOf size: Int) {
        if let ticket { owner.pool.received(bodyOf: size, for: ticket) }
    }
}
