import CurlNetworking
import Foundation
import TestSupport

/// What one more task costs where few or many others wait: an admission, a timer, a cancellation.
enum Waiting {
    private static let probes = 1000
    private static let rounds = 3

    static func measure(_ server: LoadServer, _ size: Load.Size, _ report: inout Report) async throws {
        for (name, isTimer) in [("for a place at the host", false), ("for their begin date", true)] {
            let few = await leastCosts(beside: size.fewTasks, server, isTimer: isTimer)
            let many = await leastCosts(beside: size.manyTasks, server, isTimer: isTimer)
            let counts = "\(size.manyTasks) ÷ \(size.fewTasks) tasks that wait \(name)"
            guard size.isTimed else { continue }
            report.add("a task more, beside \(size.fewTasks) that wait \(name)", "\(Int(few.start)) µs")
            report.add("its cancellation", "\(Int(few.cancel)) µs")
            report.addRatio("a task more, beside \(counts)", many.start / few.start, atMost: 1.3, size)
            report.addRatio("a cancellation, beside \(counts)", many.cancel / few.cancel, atMost: 1.3, size)
        }
    }

    /// Whatever else the machine does only adds to them.
    private static func leastCosts(
        beside count: Int,
        _ server: LoadServer,
        isTimer: Bool
    ) async -> (start: Double, cancel: Double) {
        var least = (start: Double.infinity, cancel: Double.infinity)
        for _ in 0..<rounds {
            let costs = await costs(beside: count, server, isTimer: isTimer)
            least = (min(least.start, costs.start), min(least.cancel, costs.cancel))
        }
        return least
    }

    /// In microseconds of CPU for each of the probes.
    private static func costs(
        beside count: Int,
        _ server: LoadServer,
        isTimer: Bool
    ) async -> (start: Double, cancel: Double) {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpMaximumConnectionsPerHost = 1
        configuration.urlCache = nil
        configuration.timeoutIntervalForRequest = 600
        let invalidation = Invalidation()
        let session = URLSession(configuration: configuration, delegate: invalidation, delegateQueue: nil)
        func task(_ ended: @escaping @Sendable () -> Void = {}) -> URLSessionTask {
            let task = session.dataTask(with: server.url("/never")) { _, _, _ in ended() }
            if isTimer { task.earliestBeginDate = Date(timeIntervalSinceNow: .random(in: 3600...7200)) }
            return task
        }
        for _ in 0..<count { task().resume() }
        await turn(of: session)
        let cancelled = Counter()
        let ended = AsyncStream<Void>.makeStream()
        let tasks = (0..<probes).map { _ in
            task {
                if cancelled.next() == probes { ended.continuation.finish() }
            }
        }
        let start = await CPU.microseconds {
            for task in tasks { task.resume() }
            await turn(of: session)
        }
        let cancel = await CPU.microseconds {
            for task in tasks.shuffled() { task.cancel() }
            for await _ in ended.stream {}
        }
        session.invalidateAndCancel()
        await invalidation.wait()
        return (start / Double(probes), cancel / Double(probes))
    }

    /// Returns when the loop has done all that it was given.
    private static func turn(of session: URLSession) async {
        _ = await session.connections
    }
}
