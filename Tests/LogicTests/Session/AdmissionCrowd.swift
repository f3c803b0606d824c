import Testing

@testable import CurlNetworking

/// Requests that come and go at random, and what an admission says about them.
struct AdmissionCrowd {
    private(set) var waiting: [Admission.Ticket] = []
    private(set) var running: [Admission.Ticket] = []
    private var admission: Admission
    private var generator: SeededGenerator

    init(_ admission: Admission, _ generator: SeededGenerator) {
        (self.admission, self.generator) = (admission, generator)
    }

    /// A request comes, or one that runs or waits goes, or nothing happens.
    mutating func step(_ makeTicket: (inout SeededGenerator) throws -> Admission.Ticket) rethrows {
        switch Int.random(in: 0..<3, using: &generator) {
        case 0:
            let ticket = try makeTicket(&generator)
            let priority = Float.random(in: 0...1, using: &generator)
            if admission.admits(ticket, priority: priority) { running.append(ticket) } else { waiting.append(ticket) }
        case 1 where !running.isEmpty:
            let index = Int.random(in: running.indices, using: &generator)
            leave(running.remove(at: index))
        case 2 where !waiting.isEmpty && generator.chance(30):
            let index = Int.random(in: waiting.indices, using: &generator)
            leave(waiting.remove(at: index))
        default:
            break
        }
    }

    /// All that run go, and so do those that start by that.
    mutating func runToTheEnd() {
        while let ticket = running.popLast() { leave(ticket) }
    }

    private mutating func leave(_ ticket: Admission.Ticket) {
        for started in admission.leave(ticket) {
            let index = waiting.firstIndex { $0 === started }
            #expect(index != nil, "only those that wait start")
            if let index { waiting.remove(at: index) }
            running.append(started)
        }
    }
}
