import CurlTransport

/// Waits for a place at a host. Loop only.
protocol AdmissionTicketOwner: AnyObject {
    /// Called when `ticket` has got a place, which must be given back.
    func admitted(_ ticket: Admission.Ticket)
}

/// Limits the requests running at each origin and in total, and queues the others. Pure bookkeeping; loop only.
///
/// The limits are enforced here rather than by libcurl, whose queue has no time-out. Requests have their own connections unless the origin
/// turns out to speak HTTP/2, when they share them. While this is unknown, one request goes ahead, and the others wait until its connection
/// is established; see `AdmissionHost`.
struct Admission {
    /// One request's claim to a place.
    final class Ticket: IndexedHeapElement {
        struct Key: Comparable {
            let priority: Float
            let number: UInt64

            /// A priority that is NaN counts as the default.
            init(priority: Float, number: UInt64) {
                self.priority = priority.isNaN ? URLSessionTask.defaultPriority : priority
                self.number = number
            }

            static func < (a: Key, b: Key) -> Bool {
                a.priority == b.priority ? a.number < b.number : a.priority > b.priority
            }
        }

        enum Stage {
            /// Has no place yet, or has given it back.
            case waiting
            /// Has a place, and is opening a connection that can't be shared yet.
            case opening
            /// Has a place, and its connection can be shared or never will be.
            case running
        }

        let origin: Origin
        unowned let owner: any AdmissionTicketOwner
        /// Whether the current request is an upload that is sent over HTTP/1.1 because libcurl has lost a response over HTTP/2, to a server
        /// that hasn't agreed to that version (RFC 7301), so that it may not speak it.
        var isKeptOffHTTP2 = false
        /// Its number in the queue; nil for the next one.
        fileprivate let turn: UInt64?
        fileprivate(set) var host: AdmissionHost?
        fileprivate(set) var heapKey = Key(priority: 0, number: 0)
        var heapIndex: Int?
        /// Changed only by `AdmissionHost`.
        var stage = Stage.waiting
        /// Its connection is never shared; see `keptApart`.
        fileprivate(set) var isApart = false
        /// Runs while other requests wait for the first response on its connection. Owned by the pool.
        var responseTimeout: Deadline?
        /// Its request has failed; see `AdmissionHost.leave`.
        var hasFailed = false

        /// - Parameter former: The owner's last ticket, if its turn in the queue still counts.
        init(origin: Origin, owner: any AdmissionTicketOwner, inTurnOf former: Ticket? = nil) {
            self.origin = origin
            self.owner = owner
            turn = former?.heapKey.number
        }

        /// Whether the ticket has a place, which it must give back.
        var isAdmitted: Bool { stage != .waiting }
        var isOpening: Bool { stage == .opening }
    }

    private let makePlan: (Origin) -> ConnectionPlan
    private(set) var hosts: [Origin: AdmissionHost] = [:]
    private var lastNumber: UInt64 = 0
    private var rememberedHosts = 1000
    /// Called with the remaining hosts after others were forgotten.
    var didForget: ((Set<Origin>) -> Void)?
    /// Called after hosts were forgotten whose addresses libcurl was told.
    var didForgetAddresses: (() -> Void)?
    /// nil if only hosts have limits; nothing is counted then.
    private var total: TotalPlaces?

    /// `makePlan` is called once for each origin, and again for one that was forgotten. `total` limits the connections to all origins
    /// together.
    init(total: Int? = nil, makePlan: @escaping (Origin) -> ConnectionPlan) {
        self.makePlan = makePlan
        self.total = total.map(TotalPlaces.init)
    }

    /// Gives `ticket` a place, or queues it ahead of tickets with lower priority; `isAdmitted` tells which. Returns the other tickets that
    /// may start now: a host may have gained a place unnoticed if libcurl opened another connection.
    mutating func enter(_ ticket: Ticket, priority: Float) -> [Ticket] {
        lastNumber += 1
        ticket.heapKey = Ticket.Key(priority: priority, number: ticket.turn ?? lastNumber)
        let host = host(of: ticket.origin)
        ticket.host = host
        if total == nil, host.waiting.isEmpty, host.hasPlace {
            host.admit(ticket)
            return []
        }
        host.waiting.insert(ticket)
        return total == nil ? [] : fillAll(after: host).filter { $0 !== ticket }
    }

    /// Moves `ticket`, if it is waiting, to its new position in the queue; tickets of equal priority keep their order of arrival. Returns
    /// the tickets that may start now: if all hosts share places, a different ticket may be next.
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

    /// A crawler visits many hosts, so those it has finished with are forgotten from time to time.
    private mutating func forgetHosts(allBut newcomer: Origin) {
        var hadAddresses = false
        hosts = hosts.filter { origin, host in
            if origin == newcomer || !host.isForgettable { return true }
            hadAddresses = hadAddresses || host.plan.hasOwnAddresses
            return false
        }
        rememberedHosts = max(1000, 2 * hosts.count)
        didForget?(Set(hosts.keys))
        if hadAddresses { didForgetAddresses?() }
    }

    /// Gives up the ticket's place, or its wait for one; returns the tickets that may start instead.
    mutating func leave(_ ticket: Ticket) -> [Ticket] {
        guard let host = ticket.host.take() else { return [] }
        host.leave(ticket)
        return host.waiting.isEmpty && total == nil ? [] : fill(host)
    }

    /// Notes that the ticket's request gets a connection that no other can share, whichever version the origin speaks. Returns the tickets
    /// that may start now, since none waits for this connection.
    mutating func keptApart(_ ticket: Ticket) -> [Ticket] {
        ticket.isApart = true
        guard let host = ticket.host, ticket.isOpening else { return [] }
        host.endOpening(of: ticket)
        return fill(host)
    }

    /// Notes that the ticket's connection is established, and can be shared if it multiplexes; nil if unknown. Returns the tickets that may
    /// start now.
    mutating func connected(_ ticket: Ticket, multiplexes: Bool?) -> [Ticket] {
        guard let host = ticket.host, host.isAwaited(ticket) else { return [] }
        host.connected(ticket, multiplexes: multiplexes)
        return fill(host)
    }

    /// Notes that the first response on the ticket's connection is slow; the connection can't be shared before that. Returns the tickets
    /// that may start now, on another.
    mutating func overdue(_ ticket: Ticket) -> [Ticket] {
        guard let host = ticket.host, host.isAwaited(ticket) else { return [] }
        host.openerIsOverdue()
        return fill(host)
    }

    /// Notes that the ticket's origin responded in `version`, as written in the response's head. Returns the tickets that may start now.
    mutating func answered(_ ticket: Ticket, in version: String) -> [Ticket] {
        guard let host = ticket.host, ticket.isOpening || host.version != version else { return [] }
        host.answered(ticket, in: version)
        return fill(host)
    }

    /// Admits the tickets waiting at `host` or, if all hosts share places, at any host.
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

    // MARK: - Information about a ticket's origin

    /// nil for a ticket that neither has a place nor waits for one.
    func plan(for ticket: Ticket) -> ConnectionPlan? {
        ticket.host?.plan
    }

    func isKnownToMultiplex(_ ticket: Ticket) -> Bool {
        ticket.host?.multiplexes ?? false
    }

    /// Whether other tickets wait for the connection that this one opens.
    func isAwaited(_ ticket: Ticket) -> Bool {
        ticket.host?.isAwaited(ticket) ?? false
    }

    /// Whether the ticket's request would wait in libcurl for a connection that has kept others waiting too long.
    func hasOverdue(at ticket: Ticket) -> Bool {
        ticket.host?.hasOverdue ?? false
    }

    /// Notes that libcurl lost the origin's response to an upload over HTTP/2.
    func noteLostResponse(of origin: Origin, at now: MonotonicTime) {
        hosts[origin]?.uploadVersion.noteLostResponse(at: now)
    }

    /// Notes that the origin didn't respond to an upload over HTTP/1.1, which was chosen because of a lost response.
    func noteSilence(of origin: Origin) {
        hosts[origin]?.uploadVersion = .http2
    }

    /// Whether the ticket's request is to be sent over HTTP/1.1 if it has a body.
    func keepsUploadsOffHTTP2(_ ticket: Ticket, at now: MonotonicTime) -> Bool {
        ticket.host?.uploadVersion.isHTTP1(at: now) ?? false
    }

    func received(bodyOf size: Int, for ticket: Ticket) {
        ticket.host?.lastBodySize = size
    }

    /// The size of the buffer for reading from the ticket's origin: a large buffer saves system calls for large bodies, and costs more than
    /// it saves for small ones. The origin's last body predicts the next.
    func receiveBufferSize(for ticket: Ticket) -> Int {
        ticket.host?.lastBodySize ?? 0 > 64 * 1024 ? ReceiveBuffer.large : ReceiveBuffer.small
    }
}

/// The places that all hosts share, and the queue of hosts whose next request lacks only such a place.
private struct TotalPlaces {
    let limit: Int
    private var taken = 0
    private var queue = IndexedHeap<AdmissionHost>()

    init(limit: Int) {
        self.limit = limit
    }

    /// Whether another request at `host` would find a connection, or a place for one.
    private func hasPlace(at host: AdmissionHost) -> Bool {
        taken - host.countedConnections + host.connections(for: host.admitted + 1) <= limit
    }

    /// The host whose first waiting request is next overall. While that request has no place, no other gets one, even on an existing
    /// connection; otherwise the request could wait forever.
    var firstHost: AdmissionHost? { queue.first.flatMap { hasPlace(at: $0) ? $0 : nil } }

    /// Called whenever the number of requests running at `host` changes.
    mutating func recount(_ host: AdmissionHost) {
        let connections = host.connections(for: host.admitted)
        taken += connections - host.countedConnections
        host.countedConnections = connections
    }

    /// Called whenever the queue at `host`, or the number of its own places, changes.
    mutating func requeue(_ host: AdmissionHost) {
        guard host.hasPlace, let first = host.waiting.first else { return queue.remove(host) }
        host.heapKey = first.heapKey
        if host.heapIndex == nil { queue.insert(host) } else { queue.keyChanged(of: host) }
    }
}
