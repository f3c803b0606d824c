import Foundation
import Testing

@testable import CurlNetworking

@Suite("Where tasks stand between a program and its agent")
struct TaskLedgerTests {
    private var ledger = TaskLedger<String>()
    private let key = UUID()

    /// Whether the agent must hear of that, and whether it was the last late end.
    private mutating func acknowledge(_ key: UUID, keepsFile: Bool = false) -> [Bool] {
        let (tellsAgent, areAllTold) = ledger.acknowledge(key, keepsFile: keepsFile)
        return [tellsAgent, areAllTold]
    }

    @Test("A new task is unrecorded until the agent has accepted it, which is news once")
    mutating func acceptance() {
        ledger.add("a", key)
        #expect(ledger.unrecorded == [key] && !ledger.isRecorded(key))
        #expect(ledger.accept(key) == "a")
        #expect(ledger.accept(key) == nil)
        #expect(ledger.unrecorded == [] && ledger.isRecorded(key))
        #expect(ledger.accept(UUID()) == nil)
    }

    @Test("The agent hears of an end that it has a record of, and of no other")
    mutating func acknowledgement() {
        let refused = UUID()
        ledger.add("a", key)
        ledger.add("b", refused)
        _ = ledger.accept(key)
        #expect(acknowledge(key) == [true, false])
        #expect(acknowledge(refused) == [false, false])
        #expect(ledger.engines == [] && ledger.unconfirmed == 1)
        #expect(ledger[refused] == nil)
        ledger.forget(key)
        #expect(ledger[key] == nil && ledger.unconfirmed == 0)
        #expect(acknowledge(key) == [false, false])
    }

    @Test("A file that couldn't be handed over is left to the next session, whatever else happens")
    mutating func file() {
        ledger.restore("a", key, hasEnded: true)
        _ = ledger.giveUp { _ in false }
        #expect(acknowledge(key, keepsFile: true) == [false, true])
        _ = ledger.giveUp { _ in false }
        ledger.forget(key)
        _ = ledger.compare(with: [key])
        guard case .left = ledger[key] else {
            Issue.record("it isn't left")
            return
        }
        #expect(ledger.unconfirmed == 0)
    }

    @Test("The last of the ends that came before the program is known as such")
    mutating func lateEnds() {
        let (second, running) = (UUID(), UUID())
        ledger.restore("a", key, hasEnded: true)
        ledger.restore("b", second, hasEnded: true)
        ledger.restore("c", running, hasEnded: false)
        #expect(ledger.late == 2)
        #expect(acknowledge(key) == [true, false])
        #expect(acknowledge(running) == [true, false])
        #expect(acknowledge(second) == [true, true])
        #expect(ledger.late == 0 && ledger.unconfirmed == 3)
    }

    @Test("An agent that comes after none could be reached has to drop what has failed meanwhile, or was acknowledged")
    mutating func givingUp() {
        let acknowledged = UUID()
        ledger.restore("a", acknowledged, hasEnded: true)
        _ = acknowledge(acknowledged)
        ledger.add("b", key)
        ledger.submit(key)
        let failed = ledger.giveUp { _ in false }
        #expect(failed == ["b"])
        #expect(ledger.unconfirmed == 0 && ledger.unrecorded == [key])
        #expect(acknowledge(key) == [false, false])
        for key in [key, acknowledged] {
            guard case .unwanted = ledger[key] else {
                Issue.record("it isn't unwanted")
                continue
            }
            ledger.forget(key)
            #expect(ledger[key] == nil)
        }
    }

    @Test("A task that no agent was sent leaves nothing behind after none could be reached")
    mutating func givingUpUnsent() {
        ledger.add("a", key)
        #expect(ledger.giveUp { _ in false } == ["a"])
        #expect(acknowledge(key) == [false, false])
        #expect(ledger[key] == nil)
    }

    @Test("A task that an agent was sent and didn't record is new to the next one, and not yet sent to that")
    mutating func sentToOther() {
        ledger.add("a", key)
        ledger.submit(key)
        #expect(ledger.unrecorded == [key])
        #expect(ledger.compare(with: []).new == ["a"])
        _ = ledger.giveUp { _ in false }
        _ = acknowledge(key)
        #expect(ledger[key] == nil)
    }

    @Test("A result that the delegate has yet to be told of stays with an agent that comes after none could be reached")
    mutating func givingUpWithResult() {
        let told = UUID()
        for key in [key, told] { ledger.restore("a", key, hasEnded: true) }
        _ = ledger.giveUp { _ in true }
        #expect(ledger.isRecorded(key))
        // That is never confirmed, so nothing waits for it.
        let (tellsAgent, _) = ledger.acknowledge(told, keepsFile: false, hasAgent: false)
        #expect(!tellsAgent && ledger.unconfirmed == 0)
        guard case .unwanted = ledger[told] else {
            Issue.record("it isn't unwanted")
            return
        }
        #expect(acknowledge(key) == [true, true])
    }

    @Test("A task that an agent doesn't have is lost, forgotten as it should be, or new to the agent")
    mutating func comparison() {
        let keys = (0..<5).map { _ in UUID() }
        ledger.restore("lost", keys[0], hasEnded: false)
        ledger.add("new", keys[1])
        ledger.restore("told", keys[2], hasEnded: true)
        _ = acknowledge(keys[2])
        ledger.restore("known", keys[3], hasEnded: false)
        ledger.restore("known and told", keys[4], hasEnded: false)
        _ = acknowledge(keys[4])
        let (lost, new) = ledger.compare(with: [keys[3], keys[4]])
        #expect(lost == ["lost"] && new == ["new"])
        #expect(ledger[keys[2]] == nil && ledger.unconfirmed == 1)
        #expect(ledger.isRecorded(keys[3]) && !ledger.isRecorded(keys[0]))
        #expect(acknowledge(keys[0]) == [false, false])
    }
}
