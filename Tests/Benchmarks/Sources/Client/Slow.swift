import Foundation

/// Thousands of transfers that trickle in: all are open at once when memory is read.
struct Slow: Scenario {
    private let arguments: Arguments
    private let crowd: Crowd
    private let session: URLSession

    init(_ arguments: Arguments) {
        self.arguments = arguments
        crowd = Crowd(of: arguments.requests)
        session = makeSession(
            connectionsPerHost: arguments.requests,
            delegate: crowd,
            delegateQueue: crowd.queue
        )
    }

    func warmUp() async throws -> Tally {
        try await warmLibrariesUp(arguments)
    }

    func slice(_ tally: inout Tally) async -> Report {
        let meter = Meter()
        await crowd.start(arguments.url, session: session)
        try? await Task.sleep(for: arguments.holding)
        let reading = meter.stop()
        tally.add(await crowd.tally())
        return reading.report(tally)
    }
}
