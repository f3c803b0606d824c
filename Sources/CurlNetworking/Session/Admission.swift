import CurlTransport

/// Waits for a place at a host. Loop only.
protocol AdmissionTicketOwner: AnyObject {
    /// The session has a place for the ticket, which must be given back.
    func admitted(_ ticket: Admission.Ticket)
}

/// How many requests may run at each origin and in all, and who waits for the next place. Pure bookkeeping; loop only.
///
/// The limits are ours and not libcurl's, whose queue knows no time-out. One request uses one connection, until the origin
/// turns out to speak HTTP/2: from then on its requests share connections. As long as it could do either, one request goes ahead,
/// and the others wait until its connection stands: `AdmissionHost`.
struct Admission {
    /// One request's claim to a place.
    final class Ticket: IndexedHeapElement {
        struct Key: Comparable {
            let priority: Float
            let number: UInt64

            /// What is no number has the default priority.
            init(priority: Float, number: UInt64) {
                self.priority = priority.isNaN ? URLSessionTask.defaultPriority : priority
                self.number = number
            }

            static func < (a: Key, b: Key) -> Bool {
                a.priority == b.priority ? a.number < b.number : a.priority > b.priority
            }
        }

        let origin: Origin
        unowned let owner: any AdmissionTicketOwner
        fileprivate(set) var host: AdmissionHost?
        fileprivate(set) var heapKey = Key(priority: 0, number: 0)
        var heapIndex: Int?
        /// It has a place, and must give it back.
        var isAdmitted = false
        /// It opens a connection that nobody can share yet.
        var isOpening = false
        /// Runs while others wait for the first answer on its connection. The pool's.
        var answerTimeout: Deadline?
        /// Its request has failed: see `AdmissionHost.leave`.
        var hasFailed = false

        init(origin: Origin, owner: any AdmissionTicketOwner) {
            self.origin = origin
            self.owner = owner
        }
    }

    private let makePlan: (Origin) -> ConnectionPlan
    private(set) var hosts: [Origin: AdmissionHost] = [:]
    private var lastNumber: UInt64 = 0
    private var rememberedHosts = 1000
    /// Called when hosts were forgotten, with those that are left.
    var didForget: ((Set<Origin>) -> Void)?
    /// nil where only the hosts have limits: then nothing is counted.
    private var total: TotalPlaces?

    /// `makePlan` is asked once for each origin, and again for one that has been forgotten. `total` limits the connections to all
    /// origins together.
    init(total: Int? = nil, makePlan: @escaping (Origin) -> ConnectionPlan) {
        self.makePlan = makePlan
        self.total = total.map(TotalPlaces.init)
    }

    /// True when `ticket` has a place now; else it waits, ahead of those of lower priority.
    mutating func enter(_ ticket: Ticket, priority: Float) -> Bool {
        lastNumber += 1
        ticket.heapKey = Ticket.Key(priority: priority, number: lastNumber)
        let host = host(of: ticket.origin)
        ticket.host = host
        if total == nil, host.waiting.isEmpty, host.hasPlace {
            host.admit(ticket)
            return true
        }
        host.waiting.insert(ticket)
        // Nobody but the newcomer can have a place that wasn't there before.
        return total != nil && !fillAll(after: host).isEmpty
    }

    /// Has `ticket`, if it waits, take another place among those who do; equals keep the order in which they came. Returns who may start
    /// now: where a place counts for all hosts, another may be the next of all.
    mutating func setPriority(_ priority: Float, of ticket: Ticket) -> [Ticket] {
        guard let host = ticket.host, ticket.heapIndex != nil else { return [] }
        ticket.heapKey = Ticket.Key(priority: priority, number: ticket.heapKey.number)
        host.waiting.keyChanged(of: ticket)
        return total == nil ? [] : fillAll(after: host)
    }

    private mutating func host(of origin: Origin) -> AdmissionHost {
        if let host = hosts[origin] { return host }
        let host = AdmissionHost(plan: makePlan(origin))
        hosts[origin] = host
        if hosts.count > rememberedHosts { forgetHosts(allBut: origin) }
        return host
    }

    /// A crawler meets many hosts; those that it is done with are forgotten now and then.
    private mutating func forgetHosts(allBut newcomer: Origin) {
        hosts = hosts.filter { $0.key == newcomer || !$0.value.isForgettable }
        rememberedHosts = max(1000, 2 * hosts.count)
        didForget?(Set(hosts.keys))
    }

    /// Gives up the place, or the waiting for it; returns who may start instead.
    mutating func leave(_ ticket: Ticket) -> [Ticket] {
        guard let host = ticket.host.take() else { return [] }
        host.leave(ticket)
        return host.waiting.isEmpty && total == nil ? [] : fill(host)
    }

    /// The ticket's connection stands, and can be shared where it multiplexes; nil where that isn't known. Returns who may start now.
    mutating func connected(_ ticket: Ticket, multiplexes: Bool?) -> [Ticket] {
        guard let host = ticket.host, host.isAwaited(ticket) else { return [] }
        host.connected(ticket, multiplexes: multiplexes)
        return fill(host)
    }

    /// The first answer on the ticket's connection takes long, and it can't be shared before. Returns who may start now, on another.
    mutating func overdue(_ ticket: Ticket) -> [Ticket] {
        guard let host = ticket.host, host.isAwaited(ticket) else { return [] }
        host.openerIsOverdue()
        return fill(host)
    }

    /// The ticket's origin has answered in `version`, as it stands in the response's head. Returns who may start now.
    mutating func answered(_ ticket: Ticket, in version: String) -> [Ticket] {
        guard let host = ticket.host, ticket.isOpening || host.version != version else { return [] }
        host.answered(ticket, in: version)
        return fill(host)
    }

    /// Admits those who wait at `host`; where a place counts for all hosts, those who wait anywhere.
    private mutating func fill(_ host: AdmissionHost) -> [Ticket] {
        if total != nil { return fillAll(after: host) }
        var next: [Ticket] = []
        while host.hasPlace, let ticket = host.waiting.removeFirst() {
            host.admit(ticket)
            next.append(ticket)
        }
        return next
    }

    private mutating func fillAll(after host: AdmissionHost) -> [Ticket] {
        total?.recount(host)
        total?.requeue(host)
        var next: [Ticket] = []
        while let host = total?.firstHost, let ticket = host.waiting.removeFirst() {
            host.admit(ticket)
            next.append(ticket)
            total?.recount(host)
            total?.requeue(host)
        }
        return next
    }

    // MARK: - What is known of a ticket's origin

    /// nil for a ticket that has neither a place nor waits for one.
    func plan(for ticket: Ticket) -> ConnectionPlan? {
        ticket.host?.plan
    }

    func isKnownToMultiplex(_ ticket: Ticket) -> Bool {
        ticket.host?.multiplexes ?? false
    }

    /// Whether others wait for the ticket's connection: it is to open one.
    func isAwaited(_ ticket: Ticket) -> Bool {
        ticket.host?.isAwaited(ticket) ?? false
    }

    /// Whether the ticket's request would wait in libcurl for a connection that has kept others waiting for too long.
    func hasOverdue(at ticket: Ticket) -> Bool {
        ticket.host?.hasOverdue ?? false
    }

    /// Notes how long a body from the ticket's origin was.
    func received(bodyOf size: Int, for ticket: Ticket) {
        ticket.host?.lastBodySize = size
    }

    /// How many bytes one read from the ticket's origin should bring: a large buffer saves system calls where bodies are large,
    /// and costs more than it saves where they are not. The last body from there is taken for a sample of the next.
    func receiveBufferSize(for ticket: Ticket) -> Int {
        ticket.host?.lastBodySize ?? 0 > 64 * 1024 ? 256 * 1024 : 16 * 1024
    }
}

/// The places that all hosts share, and the hosts with somebody who lacks nothing but one of them.
private struct TotalPlaces {
    let limit: Int
    private var taken = 0
    private var queue = IndexedHeap<AdmissionHost>()

    init(limit: Int) {
        self.limit = limit
    }

    /// Whether one more request at `host` would find a connection, or a place for one.
    private func hasPlace(at host: AdmissionHost) -> Bool {
        taken - host.countedConnections + host.connections(for: host.admitted + 1) <= limit
    }

    /// The host whose first waiting request is the next of all. While that one has no place nobody else gets one, even on a connection
    /// that is there: else it could wait forever.
    var firstHost: AdmissionHost? { queue.first.flatMap { hasPlace(at: $0) ? $0 : nil } }

    /// Called after each change of what runs at `host`.
    mutating func recount(_ host: AdmissionHost) {
        let connections = host.connections(for: host.admitted)
        taken += connections - host.countedConnections
        host.countedConnections = connections
    }

    /// Called after each change of who waits at `host`, or of its own places.
    mutating func requeue(_ host: AdmissionHost) {
        guard host.hasPlace, let first = host.waiting.first else { return queue.remove(host) }
        host.heapKey = first.heapKey
        if host.heapIndex == nil { queue.insert(host) } else { queue.keyChanged(of: host) }
    }
}
