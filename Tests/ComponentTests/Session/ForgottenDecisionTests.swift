import CurlTransport
import Foundation
import Testing

@testable import CurlNetworking

@Suite("A pool that forgets what delegates have decided about handshakes", .timeLimit(.minutes(1)))
struct ForgottenDecisionTests {
    private static func origin(_ number: Int) throws -> Origin {
        try #require(Origin(Sample.url("https://h\(number).example/")))
    }

    @Test("Decisions about too many hosts are forgotten, along with the connections made by them")
    func tooMany() throws {
        let settings = SessionSettings(URLSessionConfiguration.ephemeral)
        let pool = ConnectionPools(settings, deliveryQueue: DeliveryQueue(OperationQueue())).first
        let first = try Self.origin(0)
        try pool.loop.queue.sync {
            let connections = try pool.currentMulti()
            let scope = pool.handshakes.scope(of: .session)
            pool.note(.accepted([[1]], hasProblem: true), about: first, in: scope)
            for number in 1..<HandshakeCoordinator.maximumOrigins {
                pool.note(.verified([[1]]), about: try Self.origin(number), in: scope)
            }
            // There is room for another about one of them.
            pool.note(.certificate(nil), about: first, in: scope)
            #expect(pool.multi === connections && pool.handshakes.acceptProblems(of: first))

            let last = try Self.origin(HandshakeCoordinator.maximumOrigins)
            pool.note(.verified([[1]]), about: last, in: scope)
            #expect(pool.multi == nil && !pool.handshakes.acceptProblems(of: first))
            #expect(scope.coordinator.decisions(for: last).trust(in: [[1]]) == .ifVerified)
        }
        pool.close()
    }
}
