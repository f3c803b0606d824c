import CurlTransport

/// The places and the queue of one origin. Loop only; changed only by `Admission`.
final class AdmissionHost: IndexedHeapElement {
    /// Whether the origin is known to multiplex.
    private enum Knowledge {
        /// It may multiplex, as its first connection will show. One request opens that connection, so the others can share it.
        case exploring
        /// One request per connection.
        case separate
        case multiplexes
    }

    /// The HTTP version over which requests with a body are sent, where the server and the program leave the choice.
    enum UploadVersion: Equatable {
        case any
        /// libcurl has lost a response to an upload over HTTP/2, or may have: HTTP/1.1 until this time, after which the server is given
        /// another chance.
        case http1(until: MonotonicTime, lasting: Duration)
        /// The same, but over HTTP/1.1 the server hasn't responded at all.
        case http2

        private static let (shortest, longest): (Duration, Duration) = (.seconds(10 * 60), .seconds(24 * 60 * 60))

        mutating func noteLostResponse(at now: MonotonicTime) {
            switch self {
            case .any:
                self = .http1(until: now + Self.shortest, lasting: Self.shortest)
            case .http1(let end, let last) where end <= now:
                let next = min(last * 2, Self.longest)
                self = .http1(until: now + next, lasting: next)
            // That upload, too, was sent over HTTP/2 before the loss of another was noticed.
            case .http1, .http2:
                break
            }
        }

        func isHTTP1(at now: MonotonicTime) -> Bool {
            if case .http1(let end, _) = self { now < end } else { false }
        }
    }

    let plan: ConnectionPlan
    private var knowledge: Knowledge
    /// The HTTP version of the last response, such as "HTTP/1.1".
    private(set) var version: String?
    private(set) var admitted = 0
    var waiting = IndexedHeap<Admission.Ticket>()
    var lastBodySize = 0
    var uploadVersion = UploadVersion.any

    // Used only if all hosts share places.
    var heapKey = Admission.Ticket.Key(priority: 0, number: 0)
    var heapIndex: Int?
    var countedConnections = 0

    init(plan: ConnectionPlan) {
        self.plan = plan
        knowledge = plan.mayMultiplex ? .exploring : .separate
    }

    var isExploring: Bool { knowledge == .exploring }
    var multiplexes: Bool { knowledge == .multiplexes }

    /// The request that opens another connection because the shareable ones are full, or there are none. The next opener waits until the
    /// new connection can be shared; otherwise libcurl would open yet another for it.
    private weak var opener: Admission.Ticket?
    /// The number of requests opening a connection that can't be shared yet: the opener, and those that are overdue.
    private var openings = 0

    /// Whether other tickets wait for the ticket's connection.
    func isAwaited(_ ticket: Admission.Ticket) -> Bool { opener === ticket }

    /// Whether a connection that can't be shared yet has kept others waiting too long.
    var hasOverdue: Bool { openings > (opener == nil ? 0 : 1) }

    var hasPlace: Bool {
        switch knowledge {
        case .exploring: opener == nil && admitted < plan.limit
        case .separate: admitted < plan.limit
        case .multiplexes: !areFull || (opener == nil && established + openings < plan.limit)
        }
    }

    /// Whether the shareable connections carry as many requests as they may.
    private var areFull: Bool { (admitted - openings) / plan.streams >= established }

    /// The number of shareable connections, as far as known.
    private var established: Int {
        guard let connections = plan.connections, plan.mayMultiplex else { return plan.limit }
        // libcurl opens useless ones for requests that could only have joined those that are gone.
        if plan.joinsPriorKnowledge, !connections.hasPriorKnowledge { return 0 }
        return max(0, min(plan.limit, connections.openCount - openings))
    }

    /// The number of connections that this many requests need.
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

    /// A request that leaves before its connection can be shared lets the next one go ahead. One that failed lets all go ahead, so each has
    /// its own time-out for connecting, instead of one failing after another.
    func leave(_ ticket: Admission.Ticket) {
        guard ticket.isAdmitted else { return waiting.remove(ticket) }
        admitted -= 1
        let opened = opener === ticket
        endOpening(of: ticket)
        ticket.stage = .waiting
        if ticket.hasFailed, opened, isExploring || established == 0 { knowledge = .separate }
    }

    /// Notes that the ticket's connection can be shared, or never will be.
    func endOpening(of ticket: Admission.Ticket) {
        if opener === ticket { opener = nil }
        guard ticket.isOpening else { return }
        ticket.stage = .running
        openings -= 1
    }

    func connected(_ ticket: Admission.Ticket, multiplexes: Bool?) {
        endOpening(of: ticket)
        guard isExploring else { return }
        // If unknown, as many requests start as without multiplexing; the first response decides.
        knowledge = multiplexes ?? false ? .multiplexes : .separate
    }

    /// Notes that the opener's connection is established, but can't be shared before its first response, which is slow.
    func openerIsOverdue() {
        opener = nil
    }

    func answered(_ ticket: Admission.Ticket, in version: String) {
        endOpening(of: ticket)
        self.version = version
        // The version on a separate connection says nothing about shareable ones.
        guard !ticket.isApart else { return }
        knowledge = version.hasPrefix("HTTP/1") ? .separate : .multiplexes
    }

    /// While the host has idle connections, information about it may still be requested.
    var isForgettable: Bool {
        let open = (plan.connections?.openCount ?? 0) + (plan.channels?.openCount ?? 0)
        return admitted == 0 && waiting.isEmpty && open == 0
    }
}
