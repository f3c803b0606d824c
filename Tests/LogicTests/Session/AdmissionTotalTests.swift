import Foundation
import TestSupport
import Testing

@testable import CurlNetworking
@testable import CurlTransport

@Suite("Admission with a limit for all hosts")
struct AdmissionTotalTests {
    let people: AdmissionTests

    init() throws {
        people = try AdmissionTests()
    }

    @Test("No more run than the limit says, however many hosts there are")
    func limit() throws {
        var admission = Admission(total: 3) { _ in ConnectionPlan(limit: 2) }
        let tickets = try ["http://a/", "http://a/", "http://b/", "http://c/"].map(people.ticket)
        #expect(tickets.map { admission.admits($0, priority: 0.5) } == [true, true, true, false])
        #expect(AdmissionTests.isSame(admission.leave(tickets[0]), [tickets[3]]))
    }

    @Test("A free place goes to the first request of all that wait at a host with a place of its own")
    func order() throws {
        var admission = Admission(total: 2) { _ in ConnectionPlan(limit: 1) }
        let (a, b) = try (people.ticket("http://a/"), people.ticket("http://b/"))
        for ticket in [a, b] { #expect(admission.admits(ticket, priority: 0.5) == true) }
        let waiting = try ["http://a/", "http://b/", "http://c/", "http://d/"].map(people.ticket)
        let priorities: [Float] = [1, 0.5, 0.5, 0.75]
        for (ticket, priority) in zip(waiting, priorities) {
            #expect(admission.admits(ticket, priority: priority) == false)
        }
        // At a, the most urgent of all waits for a's own place.
        #expect(AdmissionTests.isSame(admission.leave(b), [waiting[3]]))
        #expect(AdmissionTests.isSame(admission.leave(waiting[3]), [waiting[1]]))
        #expect(AdmissionTests.isSame(admission.leave(a), [waiting[0]]))
        #expect(AdmissionTests.isSame(admission.leave(waiting[0]), [waiting[2]]))
    }

    @Test("A request that stops waiting is no longer in the way of others")
    func leavingTheQueue() throws {
        var admission = Admission(total: 1) { _ in ConnectionPlan(limit: 1) }
        let a = try people.ticket("http://a/")
        _ = admission.admits(a, priority: 0.5)
        let (b, c) = try (people.ticket("http://b/"), people.ticket("http://c/"))
        for ticket in [b, c] { _ = admission.admits(ticket, priority: 0.5) }
        #expect(admission.leave(b).isEmpty)
        #expect(AdmissionTests.isSame(admission.leave(a), [c]))
    }

    @Test("Requests that share a connection take one place")
    func multiplexing() throws {
        var plan = ConnectionPlan(limit: 6)
        plan.streams = 2
        var admission = Admission(total: 2) { [plan] _ in plan }
        let tickets = try (0..<5).map { _ in try people.ticket("http://a/") }
        _ = admission.admits(tickets[0], priority: 0.5)
        #expect(admission.answered(tickets[0], in: "HTTP/2").isEmpty)
        let others = try (0..<2).map { _ in try people.ticket("http://b/") }
        #expect(tickets[1...].map { admission.admits($0, priority: 0.5) } == [true, true, true, false])
        #expect(others.map { admission.admits($0, priority: 1) } == [false, false])
        // Three are left, which still need two connections; and the last at a must not take what b waits for.
        #expect(admission.leave(tickets[0]).isEmpty)
        let late = try people.ticket("http://a/")
        #expect(admission.admits(late, priority: 0.75) == false)
        #expect(AdmissionTests.isSame(admission.leave(tickets[1]), [others[0]]))
        #expect(admission.leave(tickets[2]).isEmpty)
        #expect(AdmissionTests.isSame(admission.leave(others[0]), [others[1], late]))
    }

    @Test("A request that waits for a place that libcurl has made free starts with the next one that enters")
    func placesThatComeByThemselves() async throws {
        let loop = EventLoopGroup.shared.next()
        let group = ConnectionGroup(on: loop)
        var plan = ConnectionPlan(limit: 2)
        (plan.mayMultiplex, plan.connections) = (true, group)
        var admission = Admission(total: 5) { [plan] _ in plan }
        let tickets = try (0..<4).map { _ in try people.ticket() }
        #expect(admission.admits(tickets[0], priority: 0.5) == true)
        #expect(admission.answered(tickets[0], in: "HTTP/2").isEmpty)
        #expect(admission.admits(tickets[1], priority: 0.5) == true, "it opens another, since none stands")
        #expect(admission.admits(tickets[2], priority: 0.5) == false)
        let sockets = await loop.perform {
            let type = Int32(SOCK_STREAM.rawValue)
            return (0..<2).map { _ in group.openSocket(family: AF_INET, type: type, protocolNumber: 0) }
        }
        let others = admission.enter(tickets[3], priority: 0.5)
        #expect(AdmissionTests.isSame(others, [tickets[2]]))
        #expect(tickets.map(\.isAdmitted) == [true, true, true, true])
        loop.submit { sockets.forEach(group.closeSocket) }
    }

    @Test(
        "A random crowd never exceeds either limit, leaves no place empty, and always empties the queue",
        arguments: 1...10 as ClosedRange<UInt64>
    )
    func randomised(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let (limit, total) = (Int.random(in: 1...4, using: &generator), Int.random(in: 1...6, using: &generator))
        var crowd = AdmissionCrowd(Admission(total: total) { _ in ConnectionPlan(limit: limit) }, generator)
        for _ in 0..<1000 {
            try crowd.step { generator in
                try people.ticket("http://host\(Int.random(in: 1...5, using: &generator))/")
            }
            let (running, waiting) = (crowd.running, crowd.waiting)
            let byOrigin = Dictionary(grouping: running, by: \.origin).mapValues(\.count)
            #expect(running.count <= total)
            #expect(byOrigin.values.allSatisfy { $0 <= limit })
            #expect(running.count == total || waiting.allSatisfy { byOrigin[$0.origin] == limit })
        }
        crowd.runToTheEnd()
        #expect(crowd.waiting.isEmpty)
    }
}
