import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("A thousand tasks over eight hosts and four event loops, cancelled at random moments", .timeLimit(.minutes(2)))
struct EventLoopsStormTests {
    @Test("Tasks over several event loops that are cancelled at random moments complete once each, and leave nothing")
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
            let tally = Watched(Storm())
            let before = try await Storm.usage(urls, rounds: 4, eventLoops: 4)
            do {
                let session = URLSession.forTest(delegate: StormDelegate(tally)) { configuration in
                    configuration.curl.eventLoops = 4
                    configuration.httpMaximumConnectionsPerHost = 4
                    configuration.curl.temporaryDirectory = directory.url
                }
                for batch in 0..<4 {
                    await withTaskGroup(of: Void.self) { group in
                        for index in 0..<250 {
                            group.addTask { await Self.run(batch * 250 + index, urls[index % 8], session, tally) }
                        }
                    }
                }
                session.finishTasksAndInvalidate()
                try await tally.wait { $0.invalidated == 1 }
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

    /// Starts a task of some kind, suspends, resumes and cancels it at some moments, and returns when it has completed for the first time.
    private static func run(_ number: Int, _ url: URL, _ session: URLSession, _ tally: Watched<Storm>) async {
        let task: URLSessionTask
        switch number % 3 {
        case 0: task = session.dataTask(with: url)
        case 1: task = session.downloadTask(with: url)
        default: task = session.dataTask(with: url) { _, _, _ in tally.update { $0.complete(number) } }
        }
        task.taskDescription = "\(number)"
        task.resume()
        for _ in 0..<Int.random(in: 0...20) {
            await Storm.yield(Int.random(in: 0...20))
            if Bool.random() { task.suspend() } else { task.resume() }
        }
        Storm.cancel(task)
        try? await tally.wait { $0.completions[number] != nil }
    }
}
