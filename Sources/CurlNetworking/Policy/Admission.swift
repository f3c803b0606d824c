import Curl

/// How many requests may run at each origin, and who waits for the next place. Pure bookkeeping; loop only.
///
/// The limit is ours and not libcurl's, whose queue knows no time-out. One request uses one connection, until the origin
/// turns out to speak HTTP/2: from then on its requests share connections and the limit no longer applies to them.
struct Admission {
    /// One request's claim to a place.
    final class Ticket: IndexedHeapElement {
        struct Key: Comparable {
            var priority: Float
            var number: UInt64

            static func < (a: Key, b: Key) -> Bool {
                a.priority == b.priority ? a.number < b.number : a.priority > b.priority
            }
        }

        let origin: Origin
        unowned let runner: TaskRunner
        fileprivate var host: Host?
        fileprivate(set) var heapKey = Key(priority: 0, number: 0)
        var heapIndex: Int?
        /// It has a place, and must give it back.
        fileprivate(set) var isAdmitted = false

        init(origin: Origin, runner: TaskRunner) {
            self.origin = origin
            self.runner = runner
        }
    }

    /// One origin's places and its queue.
    fileprivate final class Host {
        let plan: ConnectionPlan
        var admitted = 0
        var waiting = IndexedHeap<Ticket>()
        var multiplexes = false
        var lastBodySize = 0

        init(plan: ConnectionPlan) {
            self.plan = plan
        }
    }

    private let makePlan: (Origin) -> ConnectionPlan
    private var hosts: [Origin: Host] = [:]
    private var lastNumber: UInt64 = 0
    private var rememberedHosts = 1000

    /// `makePlan` is asked once for each origin, and again for one that has been forgotten.
    init(makePlan: @escaping (Origin) -> ConnectionPlan) {
        self.makePlan = makePlan
    }

    /// True when `ticket` has a place now; else it waits, ahead of those of lower priority.
    mutating func enter(_ ticket: Ticket, priority: Float) -> Bool {
        lastNumber += 1
        ticket.heapKey = Ticket.Key(priority: priority, number: lastNumber)
        let host = host(of: ticket.origin)
        ticket.host = host
        return host.enter(ticket)
    }

    private mutating func host(of origin: Origin) -> Host {
        if let host = hosts[origin] { return host }
        // A crawler meets many hosts; those that it is done with are forgotten now and then.
        if hosts.count >= rememberedHosts {
            hosts = hosts.filter { !$0.value.isForgettable }
            rememberedHosts = max(1000, 2 * hosts.count)
        }
        let host = Host(plan: makePlan(origin))
        hosts[origin] = host
        return host
    }

    /// Gives up the place, or the waiting for it; returns who may start instead.
    func leave(_ ticket: Ticket) -> [Ticket] {
        ticket.host.take()?.leave(ticket) ?? []
    }

    /// Notes that the ticket's origin speaks HTTP/2; returns all who waited there.
    func multiplexes(_ ticket: Ticket) -> [Ticket] {
        guard let host = ticket.host, !host.multiplexes else { return [] }
        host.multiplexes = true
        return host.fill()
    }

    /// nil for a ticket that has neither a place nor waits for one.
    func plan(for ticket: Ticket) -> ConnectionPlan? {
        ticket.host?.plan
    }

    func isKnownToMultiplex(_ ticket: Ticket) -> Bool {
        ticket.host?.multiplexes ?? false
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

extension Admission.Host {
    fileprivate func enter(_ ticket: Admission.Ticket) -> Bool {
        guard multiplexes || (admitted < plan.limit && waiting.isEmpty) else {
            waiting.insert(ticket)
            return false
        }
        admit(ticket)
        return true
    }

    fileprivate func leave(_ ticket: Admission.Ticket) -> [Admission.Ticket] {
        if ticket.isAdmitted {
            ticket.isAdmitted = false
            admitted -= 1
        } else {
            waiting.remove(ticket)
        }
        return waiting.isEmpty ? [] : fill()
    }

    fileprivate func fill() -> [Admission.Ticket] {
        var next: [Admission.Ticket] = []
        while multiplexes || admitted < plan.limit, let ticket = waiting.removeFirst() {
            admit(ticket)
            next.append(ticket)
        }
        return next
    }

    private func admit(_ ticket: Admission.Ticket) {
        ticket.isAdmitted = true
        admitted += 1
    }

    fileprivate var isForgettable: Bool { admitted == 0 && waiting.isEmpty }
}
