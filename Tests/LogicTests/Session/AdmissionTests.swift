import CurlTransport
import Foundation
import Testing

@testable import CurlNetworking

extension Admission {
    /// Whether the ticket has a place at once. No other may get one by its entry.
    mutating func admits(_ ticket: Ticket, priority: Float) -> Bool {
        let others = enter(ticket, priority: priority)
        #expect(others.isEmpty)
        return ticket.isAdmitted
    }
}

@Suite("Admission to hosts")
struct AdmissionTests {
    /// The owner of a ticket; these tests never have one start.
    final class Owner: AdmissionTicketOwner {
        func admitted(_ ticket: Admission.Ticket) {}
    }

    let owner = Owner()
    let origin: Origin

    init() throws {
        origin = try #require(Origin(Sample.url("http://example.com/")))
    }

    func ticket(_ url: String? = nil) throws -> Admission.Ticket {
        let origin = try url.map { try #require(Origin(Sample.url($0))) } ?? origin
        return Admission.Ticket(origin: origin, owner: owner)
    }

    static func isSame(_ a: [Admission.Ticket], _ b: [Admission.Ticket]) -> Bool {
        a.count == b.count && zip(a, b).allSatisfy { $0 === $1 }
    }

    @Test("Receive buffers are large where the last body from the same origin was")
    func receiveBuffers() throws {
        var admission = Admission { _ in ConnectionPlan(limit: 6) }
        let tickets = [try ticket(), try ticket(), try ticket("http://example.net/")]
        for ticket in tickets { _ = admission.admits(ticket, priority: 0.5) }
        let small = admission.receiveBufferSize(for: tickets[0])
        admission.received(bodyOf: 1 << 20, for: tickets[0])
        #expect(tickets.map(admission.receiveBufferSize) == [256 * 1024, 256 * 1024, small])
        admission.received(bodyOf: 1000, for: tickets[1])
        #expect(tickets.map(admission.receiveBufferSize) == [small, small, small])
        #expect(small < 64 * 1024)
    }

    @Test("After a lost answer, uploads are kept off HTTP/2 for ten minutes, and after each further one twice as long")
    func lostAnswers() throws {
        var admission = Admission { _ in ConnectionPlan(limit: 6) }
        let (ticket, other) = (try ticket(), try ticket("http://example.net/"))
        for ticket in [ticket, other] { _ = admission.admits(ticket, priority: 0.5) }
        var now = MonotonicTime.now
        #expect(!admission.keepsUploadsOffHTTP2(ticket, at: now))
        for minutes in [10, 20, 40, 80, 160, 320, 640, 1280, 1440, 1440] {
            admission.noteLostResponse(of: origin, at: now)
            // Others that were under way over HTTP/2 prolong nothing.
            admission.noteLostResponse(of: origin, at: now + .seconds(60 * minutes - 1))
            #expect(admission.keepsUploadsOffHTTP2(ticket, at: now + .seconds(60 * minutes - 1)))
            now = now + .seconds(60 * minutes)
            #expect(!admission.keepsUploadsOffHTTP2(ticket, at: now))
        }
        admission.noteLostResponse(of: origin, at: now)
        #expect(admission.keepsUploadsOffHTTP2(ticket, at: now))
        #expect(!admission.keepsUploadsOffHTTP2(other, at: now))
        admission.noteSilence(of: origin)
        admission.noteLostResponse(of: origin, at: now)
        #expect(!admission.keepsUploadsOffHTTP2(ticket, at: now))
    }

    @Test("Of a thousand hosts those without anything left are forgotten, and the handler is told which remain")
    func telling() throws {
        var remembered: [Set<Origin>] = []
        var admission = Admission { _ in ConnectionPlan(limit: 1) }
        admission.didForget = { remembered.append($0) }
        let tickets = try (0...1000).map { try ticket("http://host\($0).example/") }
        for ticket in tickets[..<1000] {
            _ = admission.admits(ticket, priority: 0.5)
            // One is under way still.
            if ticket !== tickets[7] { _ = admission.leave(ticket) }
        }
        #expect(remembered.isEmpty)
        #expect(admission.admits(tickets[1000], priority: 0.5) == true)
        #expect(remembered == [[tickets[7].origin, tickets[1000].origin]])
        #expect(Set(admission.hosts.keys) == remembered.last)
    }

    @Test("The handler is told when a host with addresses of its own is forgotten, which isn't while it has requests")
    func tellingOfAddresses() throws {
        var count = 0
        var admission = Admission { origin in
            var plan = ConnectionPlan(limit: 1)
            plan.hasOwnAddresses = origin.host == "host7.example"
            return plan
        }
        admission.didForgetAddresses = { count += 1 }
        let tickets = try (0...2000).map { try ticket("http://host\($0).example/") }
        for ticket in tickets[...1000] {
            _ = admission.admits(ticket, priority: 0.5)
            if ticket !== tickets[7] { _ = admission.leave(ticket) }
        }
        #expect(admission.hosts.count == 2 && count == 0)
        _ = admission.leave(tickets[7])
        for ticket in tickets[1001...] {
            _ = admission.admits(ticket, priority: 0.5)
            _ = admission.leave(ticket)
        }
        #expect(admission.hosts[tickets[7].origin] == nil && count == 1)
    }

    @Test("As many as the limit says run at an origin, and the others wait", arguments: [1, 2, 6])
    func limit(limit: Int) throws {
        var admission = Admission { _ in ConnectionPlan(limit: limit) }
        let tickets = try (0..<2 * limit).map { _ in try ticket() }
        let entered = tickets.map { admission.admits($0, priority: 0.5) }
        #expect(entered == (0..<2 * limit).map { $0 < limit })
        #expect(tickets.map(\.isAdmitted) == (0..<2 * limit).map { $0 < limit })
    }

    @Test("Each origin has places of its own; scheme, host and port tell them apart")
    func origins() throws {
        var admission = Admission { _ in ConnectionPlan(limit: 1) }
        for url in ["http://a/", "http://b/", "https://a/", "http://a:81/"] {
            #expect(try admission.admits(ticket(url), priority: 0.5))
        }
        for url in ["http://A/x", "http://a:80/", "HTTP://a/#f", "https://a:443/"] {
            #expect(try !admission.admits(ticket(url), priority: 0.5))
        }
    }

    @Test("A place that becomes free goes to the highest priority, and among equals to the oldest")
    func order() throws {
        var admission = Admission { _ in ConnectionPlan(limit: 1) }
        let running = try ticket()
        _ = admission.admits(running, priority: 0.5)
        let priorities: [Float] = [0.5, 0.25, 0.75, 0.5, 0.75, 1, 0]
        let waiting = try priorities.map { _ in try ticket() }
        for (ticket, priority) in zip(waiting, priorities) {
            #expect(admission.admits(ticket, priority: priority) == false)
        }
        var order: [Int] = []
        var next = admission.leave(running)
        while let ticket = next.first {
            #expect(next.count == 1)
            #expect(ticket.isAdmitted)
            order.append(try #require(waiting.firstIndex { $0 === ticket }))
            next = admission.leave(ticket)
        }
        #expect(order == [5, 2, 4, 0, 3, 1, 6])
    }

    @Test("A newcomer does not overtake those who wait")
    func newcomer() throws {
        var admission = Admission { _ in ConnectionPlan(limit: 1) }
        let (a, b, c) = try (ticket(), ticket(), ticket())
        #expect(admission.admits(a, priority: 0.5) == true)
        #expect(admission.admits(b, priority: 0.5) == false)
        #expect(Self.isSame(admission.leave(a), [b]))
        #expect(admission.admits(c, priority: 1) == false)
    }

    @Test("A ticket in the turn of another, which has left, goes before those that came after that one")
    func turn() throws {
        var admission = Admission { _ in ConnectionPlan(limit: 1) }
        let (first, second) = (try ticket(), try ticket())
        for ticket in [first, second] { _ = admission.admits(ticket, priority: 0.5) }
        #expect(Self.isSame(admission.leave(first), [second]))
        let third = try ticket()
        let again = Admission.Ticket(origin: origin, owner: owner, inTurnOf: first)
        #expect(!admission.admits(third, priority: 0.5) && !admission.admits(again, priority: 0.5))
        #expect(Self.isSame(admission.leave(second), [again]))
        #expect(Self.isSame(admission.leave(again), [third]))
    }

    @Test("A waiting ticket can leave, and takes no other's place with it")
    func leavingTheQueue() throws {
        var admission = Admission { _ in ConnectionPlan(limit: 1) }
        let (a, b, c) = try (ticket(), ticket(), ticket())
        _ = admission.admits(a, priority: 0.5)
        _ = admission.admits(b, priority: 0.5)
        _ = admission.admits(c, priority: 0.5)
        #expect(admission.leave(b).isEmpty)
        #expect(admission.leave(b).isEmpty, "leaving twice changes nothing")
        #expect(Self.isSame(admission.leave(a), [c]))
        #expect(admission.leave(a).isEmpty)
        #expect(try !admission.admits(ticket(), priority: 0.5), "c has the only place")
    }

    @Test("A ticket can enter again after it has left")
    func reentry() throws {
        var admission = Admission { _ in ConnectionPlan(limit: 1) }
        let ticket = try ticket()
        for _ in 0..<3 {
            #expect(admission.admits(ticket, priority: 0.5) == true)
            #expect(admission.leave(ticket).isEmpty)
            #expect(!ticket.isAdmitted)
        }
    }

    @Test("An origin that multiplexes lets in so many for each connection as share one")
    func multiplexing() throws {
        var plan = ConnectionPlan(limit: 2)
        plan.streams = 3
        var admission = Admission { [plan] _ in plan }
        let first = try ticket()
        _ = admission.admits(first, priority: 0.5)
        let waiting = try (0..<6).map { _ in try ticket() }
        for ticket in waiting { _ = admission.admits(ticket, priority: 0.5) }
        #expect(!admission.isKnownToMultiplex(first))
        #expect(Self.isSame(admission.answered(first, in: "HTTP/2"), Array(waiting[1..<5])))
        #expect(admission.answered(first, in: "HTTP/2").isEmpty, "it is no news")
        let late = try ticket()
        #expect(admission.admits(late, priority: 0) == false)
        #expect(admission.isKnownToMultiplex(late))
        #expect(Self.isSame(admission.leave(first), [waiting[5]]))
        let elsewhere = try ticket("http://elsewhere/")
        #expect(admission.admits(elsewhere, priority: 0.5) == true)
        #expect(!admission.isKnownToMultiplex(elsewhere))
    }

    @Test("A ticket that has left says nothing about its origin")
    func multiplexingAfterLeaving() throws {
        var admission = Admission { _ in ConnectionPlan(limit: 1) }
        let ticket = try ticket()
        _ = admission.admits(ticket, priority: 0.5)
        _ = admission.leave(ticket)
        #expect(admission.answered(ticket, in: "HTTP/2").isEmpty)
        #expect(!admission.isKnownToMultiplex(ticket))
    }

    @Test("Unused hosts are forgotten in time, and those in use are not")
    func forgetting() throws {
        var admission = Admission { _ in ConnectionPlan(limit: 1) }
        let busy = try ticket("http://busy/")
        #expect(admission.admits(busy, priority: 0.5) == true)
        let old = try ticket("http://old/")
        #expect(admission.admits(old, priority: 0.5) == true)
        _ = admission.answered(old, in: "HTTP/2")
        _ = admission.leave(old)
        for number in 0..<2000 {
            let passing = try ticket("http://host\(number)/")
            #expect(admission.admits(passing, priority: 0.5) == true)
            _ = admission.leave(passing)
        }
        let again = try ticket("http://old/")
        #expect(admission.admits(again, priority: 0.5) == true)
        #expect(!admission.isKnownToMultiplex(again), "it was forgotten")
        let second = try ticket("http://busy/")
        #expect(admission.admits(second, priority: 0.5) == false, "the busy host's place is still taken")
        #expect(Self.isSame(admission.leave(busy), [second]))
    }

    @Test(
        "A random crowd never exceeds the limit and always empties the queue",
        arguments: 1...10 as ClosedRange<UInt64>
    )
    func randomised(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let limit = Int.random(in: 1...4, using: &generator)
        var crowd = AdmissionCrowd(Admission { _ in ConnectionPlan(limit: limit) }, generator)
        for _ in 0..<1000 {
            try crowd.step { _ in try ticket() }
            #expect(crowd.running.count <= limit)
            #expect(crowd.waiting.isEmpty || crowd.running.count == limit)
        }
        crowd.runToTheEnd()
        #expect(crowd.waiting.isEmpty)
    }
}
