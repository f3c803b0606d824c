import Dispatch
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("Alarms", .timeLimit(.minutes(1)))
struct AlarmsTests {
    private let queue = DispatchQueue(label: "of alarms")
    private let rung = Watched<[String]>([])

    private func make() -> Alarms<String> {
        let rung = rung
        return Alarms(on: queue) { key in rung.update { $0.append(key) } }
    }

    @Test("Alarms ring once each, in the order of their times, however they were set, and not if they were cancelled")
    func order() async throws {
        let alarms = make()
        queue.sync {
            alarms.set("late", after: .milliseconds(400))
            alarms.set("cancelled", after: .milliseconds(10))
            alarms.set("early", after: .milliseconds(10))
            alarms.set("moved", after: .milliseconds(10))
            alarms.set("moved", after: .milliseconds(200))
            alarms.set("never", after: .seconds(1_000_000_000))
            alarms.cancel("cancelled")
        }
        try await rung.wait { $0.contains("late") }
        #expect(rung.value == ["early", "moved", "late"])
    }

    @Test("An alarm never rings too early")
    func duration() async throws {
        let alarms = make()
        let start = DispatchTime.now()
        queue.sync { alarms.set("one", after: .milliseconds(120)) }
        try await rung.wait { $0 == ["one"] }
        #expect(DispatchTime.now().uptimeNanoseconds - start.uptimeNanoseconds >= 120_000_000)
        queue.sync { alarms.set("at once", after: .zero) }
        try await rung.wait { $0 == ["one", "at once"] }
    }

    @Test("An alarm takes no memory once its object is gone, even if its time is a week away")
    func memory() async {
        func setAndDrop(_ count: Int) {
            for _ in 0..<count {
                let alarms = make()
                queue.sync { alarms.set("in a week", after: .seconds(7 * 24 * 60 * 60)) }
            }
        }
        setAndDrop(1000)
        _ = await ProcessUsage.atRest()
        ProcessUsage.trim()
        let before = ProcessUsage().resident
        setAndDrop(50_000)
        _ = await ProcessUsage.atRest()
        ProcessUsage.trim()
        #expect(ProcessUsage().resident - before < ProcessUsage.growth(of: 12 << 20))
    }
}
