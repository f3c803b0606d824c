import CurlNetworking
import Foundation
import TestSupport

/// What came of many tasks that were cancelled at random moments.
struct Storm: Sendable {
    var started = 0
    /// By the number of the task: how often it has completed.
    var completions: [Int: Int] = [:]
    var invalidated = 0

    mutating func complete(_ number: Int) {
        completions[number, default: 0] += 1
    }

    /// Cancels a task, in one of the ways there are.
    static func cancel(_ task: URLSessionTask) {
        if let download = task as? URLSessionDownloadTask, Bool.random() {
            download.cancel { _ in }
        } else {
            task.cancel()
        }
    }

    static func yield(_ count: Int) async {
        for _ in 0..<count { await Task.yield() }
    }

    /// Of a process that has done everything once, on all of its loops.
    static func usage(_ urls: [URL], rounds: Int, eventLoops: Int? = nil) async throws -> ProcessUsage {
        for _ in 0..<rounds {
            let delegate = RecordingDelegate()
            let session = URLSession.forTest(delegate: delegate) { configuration in
                if let eventLoops { configuration.curl.eventLoops = eventLoops }
            }
            for url in urls { _ = await session.load(url.appendingPathComponent("warm-up")) }
            session.invalidateAndCancel()
            try await delegate.invalidation()
        }
        return await ProcessUsage.atRest()
    }
}

/// Counts the ends of tasks, whose descriptions are their numbers, and of sessions.
final class StormDelegate: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate {
    private let tally: Watched<Storm>

    init(_ tally: Watched<Storm>) {
        self.tally = tally
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let number = Int(task.taskDescription ?? "") ?? -1
        tally.update { $0.complete(number) }
    }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        tally.update { $0.invalidated += 1 }
    }

    func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL) {
    }
}
