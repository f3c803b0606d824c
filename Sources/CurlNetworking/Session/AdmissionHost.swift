import CurlTransport

/// One origin's places and its queue. Loop only; changed only by `Admission`.
final class AdmissionHost: IndexedHeapElement {
    /// Whether the origin is known to multiplex.
    private enum Knowledge {
        /// It may multiplex: its first connection will tell. One request opens that, so that the others can share it.
        case exploring
        /// One request for each connection.
        case separate
        case multiplexes
    }

    let plan: ConnectionPlan
    private var knowledge: Knowledge
    /// The HTTP version of the last response, such as "HTTP/1.1".
    private(set) var version: String?
    private(set) var admitted = 0
    var waiting = IndexedHeap<Admission.Ticket>()
    var lastBodySize = 0
    /// libcurl has lost an answer of this origin's to an upload over HTTP/2: further uploads go out over HTTP/1.1.
    var losesAnswers = false

    // Used if all hosts share places.
    var heapKey = Admission.Ticket.Key(priority: 0, number: 0)
    var heapIndex: Int?
    var countedConnections = 0

    init(plan: ConnectionPlan) {
        self.plan = plan
        knowledge = plan.mayMultiplex ? .exploring : .separate
    }

    var isExploring: Bool { knowledge == .exploring }
    var multiplexes: Bool { knowledge == .multiplexes }

    /// The request that opens another connection because those that can be shared are full, or there are none. The next opener waits until
    /// that one can be shared, too: otherwise libcurl would open another for it.
    private weak var opener: Admission.Ticket?
    /// How many requests are opening a connection that can't be shared yet: the opener, and those that are overdue.
    private var openings = 0

    /// Whether others wait for the ticket's connection.
    func isAwaited(_ ticket: Admission.Ticket) -> Bool { opener === ticket }

    /// Whether a connection that can't be shared yet has kept others waiting for too long.
    var hasOverdue: Bool { openings > (opener == nil ? 0 : 1) }

    var hasPlace: Bool {
        switch knowledge {
        case .exploring: opener == nil && admitted < plan.limit
        case .separate: admitted < plan.limit
        case .multiplexes: !areFull || (opener == nil && established + openings < plan.limit)
        }
    }

    /// Whether the connections that can be shared carry as many requests as they may.
    private var areFull: Bool { (admitted - openings) / plan.streams >= established }

    /// How many connections can be shared, as far as known.
    private var established: Int {
        guard let open = plan.connections?.openCount, plan.mayMultiplex else { return plan.limit }
        return max(0, min(plan.limit, open - openings))
    }

    /// How many connections this many requests need.
    func connections(for requests: Int) -> Int {
        // Rounds up without overflowing, for any limit that a program may set.
        multiplexes && requests > 0 ? (requests - 1) / plan.streams + 1 : requests
    }

    func admit(_ ticket: Admission.Ticket) {
        ticket.stage = .running
        if isExploring || (multiplexes && areFull) {
            opener = ticket
            ticket.stage = .opening
            openings += 1
        }
        admitted += 1
    }

    /// A request that leaves before its connection could be shared lets the next one go ahead. One that failed lets all go ahead: then each
    /// has its own time to wait for the connection, rather than one failure after another.
    func leave(_ ticket: Admission.Ticket) {
        guard ticket.isAdmitted else { return waiting.remove(ticket) }
        admitted -= 1
        let opened = opener === ticket
        endOpening(of: ticket)
        ticket.stage = .waiting
        if ticket.hasFailed, opened, isExploring || established == 0 { knowledge = .separate }
    }

    /// The ticket's connection can be shared, or never will be.
    func endOpening(of ticket: Admission.Ticket) {
        if opener === ticket { opener = nil }
        guard ticket.isOpening else { return }
        ticket.stage = .running
        openings -= 1
    }

    func connected(_ ticket: Admission.Ticket, multiplexes: Bool?) {
        endOpening(of: ticket)
        guard isExploring else { return }
        // If unknown, as many requests start as without multiplexing; the first response will tell.
        knowledge = multiplexes ?? false ? .multiplexes : .separate
    }

    /// The opener's connection is established, but can't be shared before its first response, which is slow.
    func openerIsOverdue() {
        opener = nil
    }

    func answered(_ ticket: Admission.Ticket, in version: String) {
        endOpening(of: ticket)
        self.version = version
        // What a connection of another kind speaks says nothing about those that may be shared.
        guard !ticket.isApart else { return }
        knowledge = version.hasPrefix("HTTP/1") ? .separate : .multiplexes
    }

    /// While it has idle connections, information about it may still be requested.
    var isForgettable: Bool {
        let open = (plan.connections?.openCount ?? 0) + (plan.channels?.openCount ?? 0)
        return admitted == 0 && waiting.isEmpty && open == 0
    }
}
