import CurlTransport

/// Owns a place at a host. Loop only.
///
/// Always a `Loader`; with the protocol, its place depends on nothing else of it.
protocol HostPlaceOwner: AnyObject {
    var pool: ConnectionPool { get }
    /// Called when the place is available. False if it is no longer wanted.
    func placeGranted() -> Bool
}

/// The place at a host that a task has or waits for, kept across redirects within an origin. Loop only.
final class HostPlace: AdmissionTicketOwner {
    private enum State {
        case none
        /// With the ticket of a place, or of the wait for one.
        case at(Admission.Ticket)
        /// Without either; the last ticket's turn still counts.
        case aside(from: Admission.Ticket)
    }

    private var state = State.none
    private unowned let owner: any HostPlaceOwner

    init(_ owner: any HostPlaceOwner) {
        self.owner = owner
    }

    /// nil if the task neither has a place nor waits for one.
    var ticket: Admission.Ticket? { if case .at(let ticket) = state { ticket } else { nil } }

    func isAt(_ origin: Origin) -> Bool { ticket?.origin == origin }

    /// Takes a place at `origin`, or waits for one; keeps the task's place if it is already there. The owner is told at once if the place
    /// is available.
    func enter(_ origin: Origin, priority: Float) {
        if isAt(origin) { return admitted() }
        stepAside()
        let ticket = Admission.Ticket(origin: origin, owner: self, inTurnOf: former(at: origin))
        state = .at(ticket)
        if owner.pool.enter(ticket, priority: priority) { admitted() }
    }

    /// The ticket from which the task has stepped aside, if that was for `origin`.
    private func former(at origin: Origin) -> Admission.Ticket? {
        if case .aside(let former) = state, former.origin == origin { former } else { nil }
    }

    func admitted(_ ticket: Admission.Ticket) {
        guard ticket === self.ticket else { return owner.pool.leave(ticket) }
        admitted()
    }

    /// Offers the owner the place, which is available.
    private func admitted() {
        if !owner.placeGranted() { leave() }
    }

    /// Gives up the place, or the wait for one.
    func leave() {
        stepAside()
        state = .none
    }

    /// The same, but a next request to the same host goes before those that came later than this one.
    func stepAside() {
        guard let ticket else { return }
        state = .aside(from: ticket)
        owner.pool.leave(ticket)
    }

    /// Notes that the request that held the place failed; see `AdmissionHost.leave`.
    func noteFailure() {
        ticket?.hasFailed = true
    }

    func setPriority(_ priority: Float) {
        if let ticket { owner.pool.setPriority(priority, of: ticket) }
    }

    /// Passes a transfer's report about its connection on to the pool.
    func note(_ report: ConnectionReport) {
        guard let ticket else { return }
        if case .established(let negotiated) = report.establishment {
            owner.pool.noteConnection(ticket, negotiated: negotiated)
        }
        if let version = report.responseVersion { owner.pool.noteResponse(ticket, in: version) }
    }

    /// Notes that a body of this many bytes arrived over the connection.
    func note(bodyOf size: Int) {
        if let ticket { owner.pool.received(bodyOf: size, for: ticket) }
    }
}
