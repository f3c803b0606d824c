import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("The road of libcurl's trace", .timeLimit(.minutes(1)))
struct TraceQueueTests {
    private let task = URLSessionDataTask()

    private func event(_ text: String) -> CurlTraceEvent {
        CurlTraceEvent(.text, time: Date(), Data(text.utf8))
    }

    @Test("Events come in order, one at a time")
    func order() async throws {
        let seen = Watched<[String]>([])
        let queue = TraceQueue(.init { _, event in seen.update { $0.append(event.text) } })
        for number in 1...500 { queue.add(event("\(number)"), about: task) }
        try await seen.wait { $0.count == 500 }
        #expect(seen.value == (1...500).map(String.init))
    }

    @Test("A slow handler makes nothing pile up: what is left out is counted")
    func bounded() async throws {
        let (first, others) = (Gate(), Gate())
        let seen = Watched<[CurlTraceEvent]>([])
        let trace = CurlOptions.Trace { _, event in
            seen.update { $0.append(event) }
            (event.text == "1" ? first : others).waitBlocking()
        }
        // Room for the first three.
        let queue = TraceQueue(trace, limit: 3 * 128)
        for number in 1...10 { queue.add(event("\(number)"), about: task) }
        first.open()
        // When the handler has the second, there is room again.
        try await seen.wait { $0.count == 2 }
        queue.add(event("more"), about: task)
        others.open()
        try await seen.wait { $0.count == 5 }
        let texts = seen.value.map(\.text)
        #expect(texts.prefix(3) == ["1", "2", "3"] && texts.last == "more")
        let omitted = seen.value[3]
        #expect(omitted.kind == .omitted)
        #expect(omitted.text == "7 events were left out, because the trace's handler was too slow.")
        #expect(omitted.description.hasPrefix("* "))
    }

    @Test("Events that are left out are reported even if nothing follows, with the first one's task and time")
    func lastOnes() async throws {
        let other = URLSessionDataTask()
        let gate = Gate()
        let seen = Watched<[(task: URLSessionTask, event: CurlTraceEvent)]>([])
        let trace = CurlOptions.Trace { task, event in
            gate.waitBlocking()
            seen.update { $0.append((task, event)) }
        }
        let queue = TraceQueue(trace, limit: 128)
        let left = event("left out")
        queue.add(event("first"), about: task)
        queue.add(left, about: other)
        queue.add(event("left out, too"), about: task)
        gate.open()
        try await seen.wait { $0.count == 2 }
        #expect(seen.value.map(\.event.kind) == [.text, .omitted])
        #expect(seen.value.last?.task === other)
        #expect(seen.value.last?.event.time == left.time)
        #expect(seen.value.last?.event.text.hasPrefix("2 events were left out") == true)
    }
}
