import Foundation
import Testing

@testable import CurlNetworking

@Suite("Agents that are lost")
struct AgentLossesTests {
    private let start = DispatchTime.now()

    @Test("Losses soon after the welcome are counted, until a connection lasts or a task ends")
    func counting() {
        var losses = AgentLosses()
        for number in 1...3 {
            losses.welcomed(at: start + Double(number))
            #expect(losses.lost(at: start + Double(number) + AgentLosses.shortTime - 1) == number)
        }
        losses.welcomed(at: start)
        #expect(losses.lost(at: start + AgentLosses.shortTime) == 1)
        #expect(losses.lost(at: start + 1) == 2)
        losses.forget()
        #expect(losses.lost(at: start + 1) == 1)
    }

    @Test("The wait for the next attempt doubles with each failure, and after six there is none")
    func delays() {
        let delays = (1...7).map { AgentLosses.delay(afterFailure: $0) }
        let expected: [Duration?] = [50, 100, 200, 400, 800, 1600].map { Duration.milliseconds($0) }
        #expect(delays == expected + [nil])
    }
}
