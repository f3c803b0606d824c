import Foundation

/// A session delegate on a delegate queue, which collects each body as delegates do.
struct DelegateLoad: Load {
    let session: URLSession
    private let collector: Collector
    private let queue: OperationQueue

    init(_ arguments: Arguments) {
        queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        collector = Collector(arguments)
        session = makeSession(
            connectionsPerHost: arguments.inFlight,
            usesDefaultConfiguration: arguments.usesDefaultConfiguration,
            delegate: collector,
            delegateQueue: queue
        )
    }

    func run(_ count: Int) async -> Tally {
        await withCheckedContinuation { continuation in
            queue.addOperation { [collector, session] in
                collector.start(count, session: session, finished: continuation)
            }
        }
    }
}

/// `@unchecked Sendable` is true because everything here runs on the delegate queue, which is serial.
private final class Collector: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    private let arguments: Arguments
    private var bodies: [Int: Data] = [:]
    private var toStart = 0
    private var running = 0
    private var tally = Tally()
    private var finished: CheckedContinuation<Tally, Never>?

    init(_ arguments: Arguments) {
        self.arguments = arguments
    }

    func start(_ count: Int, session: URLSession, finished: CheckedContinuation<Tally, Never>) {
        self.finished = finished
        tally = Tally()
        running = min(count, arguments.inFlight)
        toStart = count - running
        for _ in 0..<running {
            session.dataTask(with: arguments.url).resume()
        }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        bodies[dataTask.taskIdentifier, default: Data()].append(data)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let body = bodies.removeValue(forKey: task.taskIdentifier)
        guard finished != nil else { return }  // The probe's.
        tally.note(
            error.map { "\($0)" } ?? complaint(about: task.response, bytes: body?.count, expect: arguments.expect)
        )
        if toStart > 0 {
            toStart -= 1
            session.dataTask(with: arguments.url).resume()
            return
        }
        running -= 1
        if running == 0 {
            finished.take()?.resume(returning: tally)
        }
    }
}
