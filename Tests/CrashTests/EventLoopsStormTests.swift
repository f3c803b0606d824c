import CurlNetworking
import Foundation
import LoopbackServer
import TestSupport
import Testing

@Suite("A thousand tasks over eight hosts and four event loops, cancelled at random moments", .timeLimit(.minutes(2)))
struct EventLoopsStormTests {
    @Test("Complete exactly once each, and leave nothing behind")
    func storm() async throws {
        let holder = Watched<[URL]>([])
        let servers = try (0..<8).map { number in
            try LoopbackServer { request in
                switch request.ordinal % 6 {
                case _ where request.path == "/warm-up": .text("warm")
                case 0: .never
                case 1: .generated(length: 1 << 18, seed: 1)
                case 2: .fault(.insideBody(after: 1000, of: 5000), then: .reset)
                // To another loop, or to another host on the same.
                case 3: .redirect(to: holder.value[(number + 1) % 8], status: 307)
                case 4: .redirect(to: holder.value[(number + 4) % 8])
                default: .text("short")
                }
            }
        }
        let urls = servers.map { $0.url("/") }
        holder.update { $0 = urls }
        await #expect(processExitsWith: .success) { [urls = urls as [URL]] in
            let directory = try TemporaryDirectory()
            let tally = Watched(Tally())
            let before = try await Tally.usage(urls)
            do {
                let session = URLSession.forTest(delegate: TallyingDelegate(tally)) { configuration in
                    configuration.curl.eventLoops = 4
                    configuration.httpMaximumConnectionsPerHost = 4
                    configuration.curl.temporaryDirectory = directory.url
                }
                for batch in 0..<4 {
                    await withTaskGroup(of: Void.self) { group in
                        for index in 0..<250 {
                            group.addTask { await Tally.run(batch * 250 + index, urls[index % 8], session, tally) }
                        }
                    }
                }
                session.finishTasksAndInvalidate()
                try await tally.wait { $0.isInvalid }
            }
            let result = tally.value
            #expect(result.completions.count == 1000)
            #expect(result.completions.values.allSatisfy { $0 == 1 })
            #expect(directory.content == [])
            let after = await ProcessUsage.settled(like: before)
            #expect(after.descriptors.count <= before.descriptors.count, "\(before.kinds) → \(after.kinds)")
            #expect(after.threads <= before.threads + 2)
        }
        for server in servers { try await server.waitUntilNoConnections() }
        holder.update { $0 = [] }
        for server in servers { server.stop() }
    }
}

/// What came of the tasks.
private struct Tally: Sendable {
    /// By the number of the task: how often it has completed.
    var completions: [Int: Int] = [:]
    var isInvalid = false

    mutating func complete(_ number: Int) {
        completions[number, default: 0] += 1
    }

    /// Starts a task of some kind, suspends, resumes and cancels it at some moments, and returns when it has completed for the first time.
    static func run(_ number: Int, _ url: URL, _ session: URLSession, _ tally: Watched<Tally>) async {
        let task: URLSessionTask
        switch number % 3 {
        case 0: task = session.dataTask(with: url)
        case 1: task = session.downloadTask(with: url)
        default: task = session.dataTask(with: url) { _, _, _ in tally.update { $0.complete(number) } }
        }
        task.taskDescription = "\(number)"
        task.resume()
        for _ in 0..<Int.random(in: 0...20) {
            await yield(Int.random(in: 0...20))
            if Bool.random() { task.suspend() } else { task.resume() }
        }
        if let download = task as? URLSessionDownloadTask, Bool.random() {
            download.cancel { _ in }
        } else {
            task.cancel()
        }
        try? await tally.wait { $0.completions[number] != nil }
    }

    private static func yield(_ count: Int) async {
        for _ in 0..<count { await Task.yield() }
    }

    /// Of a process that has done everything once, on all of its loops.
    static func usage(_ urls: [URL]) async throws -> ProcessUsage {
        for _ in 0..<4 {
            let delegate = RecordingDelegate()
            let session = URLSession.forTest(delegate: delegate) { $0.curl.eventLoops = 4 }
            for url in urls { _ = await session.load(url.appendingPathComponent("warm-up")) }
            session.invalidateAndCancel()
            try await delegate.invalidation()
        }
        return await ProcessUsage.atRest()
    }
}

private final class TallyingDelegate: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate {
    private let tally: Watched<Tally>

    init(_ tally: Watched<Tally>) {
        self.tally = tally
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        tally.update { $0.complete(Int(task.taskDescription ?? "") ?? -1) }
    }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        tally.update { $0.isInvalid = true }
    }

    func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL) {
    }
}
