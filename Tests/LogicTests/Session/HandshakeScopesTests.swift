import Foundation
import TestSupport
import Testing

@testable import CurlNetworking
@testable import CurlTransport

@Suite("Decisions about handshakes that a pool remembers")
struct HandshakeScopesTests {
    private final class Decider: Sendable {}

    private static func known(_ deciders: [Decider], to scopes: HandshakeScopes) -> [Int] {
        deciders.indices.filter { scopes.existing(of: .task(.init(deciders[$0]))) != nil }
    }

    @Test("Of too many scopes, the oldest are forgotten, but not while a task relies on them")
    func tooMany() {
        var scopes = HandshakeScopes()
        let deciders = (0..<40).map { _ in Decider() }
        var holds: [HandshakeScope.Hold] = []
        for (number, decider) in deciders.enumerated() {
            let scope = scopes.scope(of: .task(.init(decider)))
            // Two tasks.
            if number < 10 { holds += [scope.hold(), scope.hold()] }
        }
        _ = scopes.removeSuperfluous()
        #expect(Self.known(deciders, to: scopes) == Array(0..<10) + Array(24..<40))
        holds.removeLast(10)
        _ = scopes.removeSuperfluous()
        #expect(Self.known(deciders, to: scopes) == Array(0..<5) + Array(24..<40))
        holds.removeAll()
        _ = scopes.removeSuperfluous()
        #expect(Self.known(deciders, to: scopes) == Array(24..<40))
    }

    @Test("Scopes whose delegates are gone are forgotten, and the session's is not")
    func gone() {
        var scopes = HandshakeScopes()
        let session = scopes.scope(of: .session)
        let deciders = (0..<2).map { _ in Decider() }
        for decider in deciders { _ = scopes.scope(of: .task(.init(decider))) }
        weak var gone: HandshakeScope?
        do {
            let decider = Decider()
            gone = scopes.scope(of: .task(.init(decider)))
        }
        _ = scopes.removeSuperfluous()
        #expect(gone == nil)
        #expect(Self.known(deciders, to: scopes) == [0, 1])
        #expect(scopes.existing(of: .session) === session)
    }

    /// A task's delegate that asks another object, or none.
    private final class Deputy: NSObject, URLSessionDelegate, HandshakeDeputy {
        let isForSomebody: Bool
        static let somebody = Decider()

        init(isForSomebody: Bool) {
            self.isForSomebody = isForSomebody
        }

        var handshakeDecider: AnyObject? { isForSomebody ? Self.somebody : nil }
    }

    @Test("Delegates that pass questions on to the same object share its decisions")
    func deputies() throws {
        var scopes = HandshakeScopes()
        let first = try #require(HandshakeDecider(own: Deputy(isForSomebody: true)))
        let second = try #require(HandshakeDecider(own: Deputy(isForSomebody: true)))
        let scope = scopes.scope(of: first)
        #expect(scopes.existing(of: second) === scope)
        #expect(HandshakeDecider(own: Deputy(isForSomebody: false)) == nil)
    }

    private final class LeavingDelegate: NSObject, URLSessionDelegate {
        private let leaving: Leaving

        init(_ leaving: Leaving) {
            self.leaving = leaving
        }
    }

    @Test(
        "A delegate that a task no longer has isn't released on the loop that was about to ask it",
        .timeLimit(.minutes(1))
    )
    func release() async throws {
        let endings = Watched<[Bool]>([])
        let decider = Watched(HandshakeDecider(own: LeavingDelegate(Leaving(endings))))
        await EventLoop(label: "test").perform { decider.update { $0 = nil } }
        try await endings.wait { !$0.isEmpty }
        #expect(endings.value == [false])
    }
}
