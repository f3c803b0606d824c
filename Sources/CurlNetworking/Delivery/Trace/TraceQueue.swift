import Foundation
import CurlNetworkingLocks

/// Carries trace events to the program's handler: off the loop, in order, and never more than `limit` at once. One for each session. Any
/// thread.
final class TraceQueue: Sendable {
    private let keptTrace: ReleasedOffLoop<CurlOptions.Trace>
    let redaction: TraceRedaction?
    private let queue = DispatchQueue(label: "CurlNetworking.trace", target: .global(qos: .utility))
    private let state = Mutex(State())
    private let limit: Int

    private struct State {
        var waiting: [(task: URLSessionTask, event: CurlTraceEvent)] = []
        /// In bytes, including the events that the handler is working on.
        var size = 0
        var omitted: Omitted?
        var isScheduled = false

        mutating func reportOmitted() {
            guard let omitted else { return }
            let text = "\(omitted.count) events were left out, because the trace's handler was too slow."
            waiting.append((omitted.task, CurlTraceEvent(.omitted, time: omitted.time, Data(text.utf8))))
            self.omitted = nil
        }
    }

    /// Consecutive events that were left out; task and time are the first one's.
    private struct Omitted {
        let task: URLSessionTask
        let time: Date
        var count = 0
    }

    /// `limit` is in bytes.
    init(_ trace: CurlOptions.Trace, limit: Int) {
        keptTrace = ReleasedOffLoop(trace)
        self.limit = limit
        redaction = trace.redactsCredentials ? TraceRedaction(fields: trace.redactedFields) : nil
    }

    var trace: CurlOptions.Trace { keptTrace.value }

    convenience init(_ trace: CurlOptions.Trace) {
        self.init(trace, limit: 4 << 20)
    }

    func add(_ event: CurlTraceEvent, about task: URLSessionTask) {
        let schedules = state.withLock { state in
            guard state.size < limit else {
                state.omitted = state.omitted ?? Omitted(task: task, time: event.time)
                state.omitted?.count += 1
                return false
            }
            state.reportOmitted()
            state.waiting.append((task, event))
            state.size += Self.size(of: event)
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        if schedules { queue.async { self.deliver() } }
    }

    private func deliver() {
        while true {
            let events = state.withLock { state in
                if state.waiting.isEmpty { state.reportOmitted() }
                defer { state.waiting = [] }
                state.isScheduled = !state.waiting.isEmpty
                return state.waiting
            }
            if events.isEmpty { return }
            for (task, event) in events {
                trace.handler(task, event)
                state.withLock { state in
                    if event.kind != .omitted { state.size -= Self.size(of: event) }
                }
            }
        }
    }

    /// An event's approximate cost in bytes.
    private static func size(of event: CurlTraceEvent) -> Int { event.bytes.count + 128 }
}
