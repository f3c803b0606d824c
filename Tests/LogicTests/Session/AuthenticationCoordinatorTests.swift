import Foundation
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("The queue of tasks that want to ask for a credential")
struct AuthenticationCoordinatorTests {
    private final class Waiter: AuthenticationWaiter {
        let turns = Watched(0)

        func turnCame(about space: ProtectionSpace) { turns.update { $0 += 1 } }
    }

    private let coordinator = AuthenticationCoordinator()
    private let space: ProtectionSpace
    private let other: ProtectionSpace

    init() throws {
        let origin = try #require(Origin(Sample.url("http://example.com/")))
        space = ProtectionSpace(party: .server, origin: origin, realm: "a", scheme: .basic)
        other = ProtectionSpace(party: .server, origin: origin, realm: "b", scheme: .basic)
    }

    @Test("Each task has its turn, in the order of their coming, and each space has a queue of its own")
    func turns() {
        let waiters = (0..<100).map { _ in Waiter() }
        for (index, waiter) in waiters.enumerated() {
            #expect(coordinator.enter(waiter, about: space) == (index == 0))
        }
        #expect(coordinator.enter(Waiter(), about: other))
        for (index, waiter) in waiters.enumerated() {
            #expect(coordinator.isTurn(of: waiter, about: space))
            coordinator.leave(waiter, about: space)
            #expect(waiters.prefix(index + 2).dropFirst().allSatisfy { $0.turns.value == 1 })
            #expect(waiters.dropFirst(index + 2).allSatisfy { $0.turns.value == 0 })
        }
        #expect(coordinator.enter(Waiter(), about: space), "the queue is empty again")
    }

    @Test("A task that gives up before its turn is passed over, and can come again")
    func givingUp() {
        let (first, second, third) = (Waiter(), Waiter(), Waiter())
        for waiter in [first, second, third] { _ = coordinator.enter(waiter, about: space) }
        coordinator.leave(second, about: space)
        coordinator.leave(first, about: space)
        #expect(second.turns.value == 0 && third.turns.value == 1)
        #expect(!coordinator.enter(second, about: space))
        coordinator.leave(third, about: space)
        #expect(second.turns.value == 1 && coordinator.isTurn(of: second, about: space))
    }

    @Test("A task that isn't in the queue has nothing to leave")
    func stranger() {
        let (first, stranger) = (Waiter(), Waiter())
        coordinator.leave(stranger, about: space)
        _ = coordinator.enter(first, about: space)
        coordinator.leave(stranger, about: space)
        #expect(coordinator.isTurn(of: first, about: space))
    }
}
