import Curl

/// One origin's places and its queue. Loop only; changed by `Admission` alone.
final class AdmissionHost: IndexedHeapElement {
    /// What is known of the origin's way to serve several requests at once.
    private enum Knowledge {
        /// It may multiplex: its first connection will tell. One request goes ahead, so that the others can share that connection.
        case exploring
        /// One request for each connection.
        case separate
        case multiplexes
    }

    let plan: ConnectionPlan
    private var knowledge: Knowledge
    /// Of the last response, such as "HTTP/1.1".
    private(set) var version: String?
    private(set) var admitted = 0
    var waiting = IndexedHeap<Admission.Ticket>()
    var lastBodySize = 0

    // Where all hosts share places.
    var heapKey = Admission.Ticket.Key(priority: 0, number: 0)
    var heapIndex: Int?
    var countedConnections = 0

    init(plan: ConnectionPlan) {
        self.plan = plan
        knowledge = plan.mayMultiplex ? .exploring : .separate
    }

    var isExploring: Bool { knowledge == .exploring }
    var multiplexes: Bool { knowledge == .multiplexes }

    /// The request that opens one more connection where those that stand are full, or none stands. The next waits until that one stands:
    /// libcurl would open another for it.
    private weak var opener: Admission.Ticket?

    /// Whether others wait for the ticket's connection to stand.
    func isAwaited(_ ticket: Admission.Ticket) -> Bool { isExploring || opener === ticket }

    /// Whether the ticket's request is to open a connection of its own.
    func isOpener(_ ticket: Admission.Ticket) -> Bool { opener === ticket }

    var hasPlace: Bool {
        switch knowledge {
        case .exploring: admitted == 0
        case .separate: admitted < plan.limit
        case .multiplexes: !areFull || (opener == nil && standing < plan.limit)
        }
    }

    /// Whether the connections that stand have as many requests as they may.
    private var areFull: Bool { admitted / plan.streams >= standing }

    /// How many connections stand, as far as that is known.
    private var standing: Int {
        guard let open = plan.connections?.openCount, plan.mayMultiplex else { return plan.limit }
        return max(0, min(plan.limit, opener == nil ? open : open - 1))
    }

    /// How many connections so many requests need.
    func connections(for requests: Int) -> Int {
        multiplexes ? (requests + plan.streams - 1) / plan.streams : requests
    }

    func admit(_ ticket: Admission.Ticket) {
        if multiplexes, areFull { opener = ticket }
        ticket.isAdmitted = true
        admitted += 1
    }

    /// A request that leaves before its connection stood lets the next one go ahead. One that failed lets all: each waits for
    /// the connection in its own time then, and not for one failure after the other.
    func leave(_ ticket: Admission.Ticket) {
        guard ticket.isAdmitted else { return waiting.remove(ticket) }
        ticket.isAdmitted = false
        admitted -= 1
        let opened = opener === ticket
        if opened { opener = nil }
        if ticket.hasFailed, isExploring || (opened && standing == 0) { knowledge = .separate }
    }

    func connected(_ ticket: Admission.Ticket, multiplexes: Bool?) {
        if opener === ticket { opener = nil }
        guard isExploring else { return }
        // Where it isn't known, so many requests start as would without multiplexing; the first answer tells.
        knowledge = multiplexes ?? false ? .multiplexes : .separate
    }

    func answered(in version: String) {
        self.version = version
        knowledge = version.hasPrefix("HTTP/1") ? .separate : .multiplexes
    }

    /// One with idle connections can still be asked about.
    var isForgettable: Bool { admitted == 0 && waiting.isEmpty && plan.connections?.openCount ?? 0 == 0 }
}
