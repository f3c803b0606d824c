import CurlTransport
import Foundation
import Testing

@testable import CurlNetworking

@Suite("Admission to hosts that may multiplex")
struct AdmissionExploringTests {
    let people: AdmissionTests
    var admission: Admission

    init() throws {
        people = try AdmissionTests()
        var plan = ConnectionPlan(limit: 2)
        plan.mayMultiplex = true
        admission = Admission { [plan] _ in plan }
    }

    /// Of six tickets, how many are in at once.
    mutating func enterSix() throws -> (tickets: [Admission.Ticket], admitted: Int) {
        let tickets = try (0..<6).map { _ in try people.ticket() }
        return (tickets, tickets.filter { admission.admits($0, priority: 0.5) }.count)
    }

    @Test("One request goes ahead, and once its connection multiplexes all others follow")
    mutating func multiplexes() throws {
        let (tickets, admitted) = try enterSix()
        #expect(admitted == 1)
        #expect(admission.isAwaited(tickets[0]))
        #expect(AdmissionTests.isSame(admission.connected(tickets[0], multiplexes: true), Array(tickets[1...])))
        #expect(!admission.isAwaited(tickets[0]))
        #expect(admission.isKnownToMultiplex(tickets[5]))
    }

    @Test(
        "If the first connection doesn't multiplex, or isn't known to, as many requests follow as have places",
        arguments: [false, nil]
    )
    mutating func isSeparate(multiplexes: Bool?) throws {
        let (tickets, _) = try enterSix()
        #expect(AdmissionTests.isSame(admission.connected(tickets[0], multiplexes: multiplexes), [tickets[1]]))
        #expect(admission.connected(tickets[0], multiplexes: multiplexes).isEmpty)
        #expect(AdmissionTests.isSame(admission.answered(tickets[1], in: "HTTP/2"), Array(tickets[2...])))
    }

    @Test("A request that leaves before its connection stands lets the next go ahead")
    mutating func cancelled() throws {
        let (tickets, _) = try enterSix()
        #expect(AdmissionTests.isSame(admission.leave(tickets[0]), [tickets[1]]))
        #expect(admission.isAwaited(tickets[1]))
    }

    @Test("A request that fails before its connection stands lets all go ahead that have places")
    mutating func failed() throws {
        let (tickets, _) = try enterSix()
        tickets[0].hasFailed = true
        #expect(AdmissionTests.isSame(admission.leave(tickets[0]), Array(tickets[1...2])))
        #expect(!admission.isAwaited(tickets[1]))
    }

    @Test("A request whose connection can't be shared lets the next go ahead at once, and its answer doesn't count")
    mutating func apart() throws {
        let (tickets, _) = try enterSix()
        #expect(AdmissionTests.isSame(admission.keptApart(tickets[0]), [tickets[1]]))
        #expect(admission.isAwaited(tickets[1]))
        #expect(admission.keptApart(tickets[0]).isEmpty)
        #expect(admission.answered(tickets[0], in: "HTTP/1.1").isEmpty)
        #expect(admission.isAwaited(tickets[1]))
        #expect(AdmissionTests.isSame(admission.connected(tickets[1], multiplexes: true), Array(tickets[2...])))
        #expect(admission.answered(tickets[0], in: "HTTP/1.1").isEmpty)
        #expect(admission.isKnownToMultiplex(tickets[5]))
    }

    @Test("If a connection that can't be shared takes the only place of its host, the others wait for that")
    mutating func apartAtLimit() throws {
        var plan = ConnectionPlan(limit: 1)
        plan.mayMultiplex = true
        admission = Admission { [plan] _ in plan }
        let (tickets, _) = try enterSix()
        #expect(admission.keptApart(tickets[0]).isEmpty)
        #expect(AdmissionTests.isSame(admission.leave(tickets[0]), [tickets[1]]))
        #expect(admission.isAwaited(tickets[1]))
    }

    @Test("A host that stops multiplexing gets no more requests than it has places")
    mutating func downgraded() throws {
        let (tickets, _) = try enterSix()
        _ = admission.connected(tickets[0], multiplexes: true)
        #expect(admission.answered(tickets[0], in: "HTTP/1.1").isEmpty)
        #expect(try !admission.admits(people.ticket(), priority: 1))
        for ticket in tickets[..<4] { #expect(admission.leave(ticket).isEmpty) }
        #expect(admission.leave(tickets[4]).count == 1)
    }

    /// A host that multiplexes, and of whose connections none stands any more.
    private mutating func loseConnections() throws {
        var plan = ConnectionPlan(limit: 2)
        plan.mayMultiplex = true
        plan.connections = ConnectionGroup(on: EventLoopGroup.shared.next())
        admission = Admission { [plan] _ in plan }
        let first = try people.ticket()
        _ = admission.admits(first, priority: 0.5)
        _ = admission.answered(first, in: "HTTP/2")
        _ = admission.leave(first)
    }

    @Test("If none of a host's connections stands any more, one request goes ahead again")
    mutating func none() throws {
        try loseConnections()
        let (tickets, admitted) = try enterSix()
        #expect(admitted == 1)
        #expect(admission.isAwaited(tickets[0]))
        // It was cancelled: the next opens one.
        #expect(AdmissionTests.isSame(admission.leave(tickets[0]), [tickets[1]]))
    }

    @Test("If the request that goes ahead again fails, all go that have places")
    mutating func unreachable() throws {
        try loseConnections()
        let (tickets, _) = try enterSix()
        tickets[0].hasFailed = true
        #expect(AdmissionTests.isSame(admission.leave(tickets[0]), Array(tickets[1...2])))
    }

    @Test("A request whose answer takes long lets the next open another connection, up to the limit")
    mutating func overdue() throws {
        let (tickets, _) = try enterSix()
        #expect(!admission.hasOverdue(at: tickets[0]))
        #expect(AdmissionTests.isSame(admission.overdue(tickets[0]), [tickets[1]]))
        #expect(admission.hasOverdue(at: tickets[0]))
        #expect(admission.isAwaited(tickets[1]))
        #expect(admission.overdue(tickets[0]).isEmpty)
        #expect(admission.overdue(tickets[1]).isEmpty)
    }

    @Test("An overdue answer lets all requests share when it comes")
    mutating func late() throws {
        let (tickets, _) = try enterSix()
        _ = admission.overdue(tickets[0])
        #expect(AdmissionTests.isSame(admission.answered(tickets[0], in: "HTTP/2"), Array(tickets[2...])))
        #expect(!admission.hasOverdue(at: tickets[0]))
        #expect(admission.isAwaited(tickets[1]))
        #expect(admission.answered(tickets[1], in: "HTTP/2").isEmpty)
        #expect(!admission.isAwaited(tickets[1]))
    }

    @Test("A request whose answer was overdue doesn't count any more once it has left")
    mutating func overdueLeft() throws {
        let (tickets, _) = try enterSix()
        _ = admission.overdue(tickets[0])
        #expect(admission.leave(tickets[0]).isEmpty)
        #expect(!admission.hasOverdue(at: tickets[1]))
        #expect(AdmissionTests.isSame(admission.answered(tickets[1], in: "HTTP/2"), Array(tickets[2...])))
    }
}
