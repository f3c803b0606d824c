import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@testable import CurlTransport

@Suite("Turns of decoding on a loop", .timeLimit(.minutes(1)))
struct DecodingTurnsTests {
    /// Loops are never freed.
    private static let loop = EventLoop(label: "ComponentTests.decoding")
    /// A loop on which nothing else asks for a turn.
    private static let quietLoop = EventLoop(label: "ComponentTests.quietDecoding")

    /// Costs as much as a step can, so many times.
    private final class Turn: DecodingTurn {
        let name: Int
        private let turns: DecodingTurns
        private let cost: Int
        private var rest: Int
        private let note: (Int) -> Void

        init(_ name: Int, in turns: DecodingTurns, cost: Int, times: Int, note: @escaping (Int) -> Void) {
            (self.name, self.turns, self.cost, rest, self.note) = (name, turns, cost, times, note)
        }

        func takeTurn() {
            turns.spend(cost)
            note(name)
            rest -= 1
            if rest > 0 { turns.enqueue(self) }
        }
    }

    private struct Note: Sendable {
        let name: Int
        let round: MonotonicTime
    }

    /// `@unchecked Sendable`: the loop's until the gate opens.
    private final class Notes: @unchecked Sendable {
        var all: [Note] = []
        let isComplete = Gate()
    }

    private func run(_ count: Int, cost: Int, times: Int) async throws -> [Note] {
        let notes = Notes()
        let loop = Self.loop
        loop.submit {
            let turns = loop.decodingTurns
            for name in 0..<count {
                turns.enqueue(
                    Turn(name, in: turns, cost: cost, times: times) { name in
                        notes.all.append(Note(name: name, round: loop.now))
                        if notes.all.count == count * times { notes.isComplete.open() }
                    }
                )
            }
        }
        try await notes.isComplete.wait()
        return notes.all
    }

    @Test("However many bodies are decoded, a round has only so much work")
    func work() async throws {
        let cost = 48 * 1024
        let notes = try await run(100, cost: cost, times: 20)
        let rounds = Dictionary(grouping: notes, by: \.round.nanoseconds)
        #expect(rounds.values.allSatisfy { $0.count * cost < DecodingTurns.workPerRound + cost })
        #expect(rounds.count >= 100 * 20 * cost / (DecodingTurns.workPerRound + cost))
    }

    @Test("Nothing is kept of a body that has had its last turn")
    func release() async throws {
        let isReleased = Gate()
        let loop = Self.quietLoop
        loop.submit {
            let turns = loop.decodingTurns
            turns.enqueue(Turn(0, in: turns, cost: 0, times: 1) { [probe = ReleaseProbe(isReleased)] _ in _ = probe })
        }
        try await isReleased.wait()
    }

    @Test("Bodies that are decoded have their turns one after the other")
    func order() async throws {
        let notes = try await run(7, cost: 100_000, times: 5)
        #expect(notes.map(\.name) == (0..<5).flatMap { _ in Array(0..<7) })
    }
}
