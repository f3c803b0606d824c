import Foundation

/// Thousands of transfers that trickle in: all are open at once when memory is read.
struct Slow: Scenario {
    private let arguments: Arguments
    private let watcher: Watcher
    private let session: URLSession

    init(_ arguments: Arguments) {
        self.arguments = arguments
        watcher = Watcher(expecting: arguments.requests)
        session = makeSession(
            connectionsPerHost: arguments.requests,
            delegate: watcher,
            delegateQueue: watcher.queue
        )
    }

    func warmUp() async throws -> Tally {
        try await warmLibrariesUp(arguments)
    }

    func slice(_ tally: inout Tally) async -> Report {
        let meter = Meter()
        await watcher.start(arguments.url, session: session)
        try? await Task.sleep(for: arguments.holding)
        let reading = meter.stop()
        tally.add(await watcher.tally())
        return reading.report(tally)
    }
}

/// Starts the slow transfers and says when each has received its first bytes.
///
/// `@unchecked Sendable` is true because the stored properties change only on the delegate queue, which is serial.
private final class Watcher: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    let queue = OperationQueue()
    private let expecting: Int
    private var withBytes: Set<Int> = []
    private var endings = Tally()
    private var allHaveBytes: CheckedContinuation<Void, Never>?

    init(expecting: Int) {
        self.expecting = expecting
        queue.maxConcurrentOperationCount = 1
    }

    func start(_ url: URL, session: URLSession) async {
        await withCheckedContinuation { continuation in
            queue.addOperation { [self] in
                allHaveBytes = continuation
                for _ in 0..<expecting {
                    session.dataTask(with: url).resume()
                }
            }
        }
    }

    func tally() async -> Tally {
        await withCheckedContinuation { continuation in
            queue.addOperation { [self] in
                continuation.resume(returning: endings)
            }
        }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        hasBytes(dataTask)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        endings.note(error.map { "\($0)" } ?? "a slow transfer ended early")
        hasBytes(task)
    }

    private func hasBytes(_ task: URLSessionTask) {
        withBytes.insert(task.taskIdentifier)
        if withBytes.count == expecting {
            allHaveBytes.take()?.resume()
        }
    }
}
