import Foundation
import Synchronization

/// Tasks that the server accepts and never answers, as they are or suspended.
final class Idle: Scenario, Sendable {
    private let arguments: Arguments
    private let session: URLSession
    private let ended = Atomic(0)

    init(_ arguments: Arguments) {
        self.arguments = arguments
        session = makeSession(connectionsPerHost: arguments.requests)
    }

    func warmUp() async throws -> Tally {
        let tasks = (0..<arguments.requests).map { _ in
            session.dataTask(with: arguments.url) { [self] _, _, _ in
                ended.add(1, ordering: .relaxed)
            }
        }
        for task in tasks {
            task.resume()
        }
        await quiet()
        if arguments.suspend {
            for task in tasks {
                task.suspend()
            }
            await quiet()
        }
        return Tally()
    }

    func slice(_ tally: inout Tally) async -> Report {
        let meter = Meter()
        try? await Task.sleep(for: arguments.holding)
        let reading = meter.stop()
        for _ in 0..<ended.load(ordering: .relaxed) {
            tally.note("a waiting task ended")
        }
        return reading.report(tally)
    }

    /// Returns when the process has used next to no CPU for half a second, or after ten seconds.
    private func quiet() async {
        for _ in 0..<20 {
            let before = Meter.processCPUNanoseconds
            try? await Task.sleep(for: .milliseconds(500))
            if Meter.processCPUNanoseconds - before < 1_000_000 {
                return
            }
        }
    }
}
