import Testing

@testable import CurlNetworking

@Suite("The phases of a loader")
struct PhaseTests {
    @Test("Every phase may end, and nothing follows the end", arguments: Phase.Kind.allCases)
    func end(kind: Phase.Kind) {
        #expect(Phase.allows(kind, to: .ended) == (kind != .ended))
        #expect(!Phase.allows(.ended, to: kind))
    }

    @Test("Every phase can be reached from the first one", arguments: Phase.Kind.allCases)
    func reachable(kind: Phase.Kind) {
        var reached: Set<Phase.Kind> = [.ready]
        var isGrowing = true
        while isGrowing {
            let next = Phase.Kind.allCases.filter { to in reached.contains { Phase.allows($0, to: to) } }
            isGrowing = !reached.isSuperset(of: next)
            reached.formUnion(next)
        }
        #expect(reached.contains(kind))
    }

    @Test(
        "No transfer starts without what comes before it",
        arguments: [Phase.Kind.waiting, .queued, .moving, .storing, .finishing, .ended]
    )
    func transfers(kind: Phase.Kind) {
        #expect(!Phase.allows(kind, to: .transferring))
    }

    @Test("A body is stored only when its transfer is over", arguments: Phase.Kind.allCases)
    func storing(kind: Phase.Kind) {
        #expect(Phase.allows(kind, to: .storing) == (kind == .deciding))
        #expect(Phase.allows(kind, to: .finishing) == (kind == .deciding || kind == .storing))
    }

    @Test("Nothing follows a body that is finished with but the end", arguments: Phase.Kind.allCases)
    func finishing(kind: Phase.Kind) {
        #expect(Phase.allows(.finishing, to: kind) == (kind == .ended))
    }
}
