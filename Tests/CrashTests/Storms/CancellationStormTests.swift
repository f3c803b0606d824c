import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Ten thousand tasks that are cancelled at random moments", .timeLimit(.minutes(2)))
struct CancellationStormTests {
    @Test(
        "Ten thousand tasks that are cancelled at random moments complete exactly once each, and leave nothing behind"
    )
    func storm() async throws {
        let server = try LoopbackServer { request in
            switch request.ordinal % 5 {
            case _ where request.path == "/warm-up": .text("warm")
            case 0: .never
            case 1: .generated(length: 1 << 20, seed: 1)
            case 2: .fault(.insideBody(after: 1000, of: 5000), then: .reset)
            case 3: .redirect(to: "/next")
            default: .text("short")
            }
        }
        await #expect(processExitsWith: .success) { [url = server.url("/") as URL] in
            let directory = try TemporaryDirectory()
            let tally = Watched(Storm())
            let before = try await Storm.usage([url], rounds: 8)
            do {
                let delegate = StormDelegate(tally)
                let sessions = (0..<4).map { number in
                    URLSession.forTest(delegate: delegate) { configuration in
                        configuration.httpMaximumConnectionsPerHost = 4 << number
                        configuration.curl.temporaryDirectory = directory.url
                    }
                }
                for batch in 0..<20 {
                    await withTaskGroup(of: Void.self) { group in
                        for index in 0..<500 {
                            let session = sessions[index % sessions.count]
                            group.addTask { await Self.run(batch * 500 + index, url, session, tally) }
                        }
                    }
                }
                for session in sessions { session.finishTasksAndInvalidate() }
                try await tally.wait { $0.invalidated == 4 }
            }
            let result = tally.value
            #expect(result.started == 10_000)
            #expect(result.completions.count == 10_000)
            #expect(result.completions.values.allSatisfy { $0 == 1 })
            #expect(directory.content == [])
            let after = await ProcessUsage.settled(like: before)
            #expect(after.descriptors.count <= before.descriptors.count, "\(before.kinds) → \(after.kinds)")
            #expect(after.threads <= before.threads + 2)
            ProcessUsage.trim()
            let resident = ProcessUsage().resident
            #expect(resident < before.resident + ProcessUsage.growth(of: 48 << 20), "\(before.resident) → \(resident)")
        }
    }

    /// Starts a task of some kind, cancels it at some moment, and returns when it has completed for the first time.
    private static func run(_ number: Int, _ url: URL, _ session: URLSession, _ tally: Watched<Storm>) async {
        tally.update { $0.started += 1 }
        let task: URLSessionTask
        switch number % 5 {
        case 0: task = session.dataTask(with: url)
        case 1: task = session.downloadTask(with: url)
        case 2: task = session.dataTask(with: url) { _, _, _ in tally.update { $0.complete(number) } }
        case 3: task = session.downloadTask(with: url) { _, _, _ in tally.update { $0.complete(number) } }
        default:
            let child = Task {
                defer { tally.update { $0.complete(number) } }
                let (bytes, _) = try await session.bytes(from: url)
                for try await _ in bytes.chunks {}
            }
            await Storm.yield(Int.random(in: 0...40))
            child.cancel()
            _ = await child.result
            return
        }
        task.taskDescription = "\(number)"
        if Bool.random() { task.resume() }
        await Storm.yield(Int.random(in: 0...40))
        if number % 7 == 0 { task.suspend() }
        if number % 11 == 0 { task.resume() }
        Storm.cancel(task)
        if Bool.random() { task.cancel() }
        try? await tally.wait { $0.completions[number] != nil }
    }
}
