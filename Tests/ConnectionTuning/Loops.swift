import CurlNetworking
import Foundation

/// What several event loops are worth to a session with several hosts, one for each of the user's URLs.
struct Loops {
    let urls: [URL]
    private let requests = 64

    func run() async throws {
        print("\(requests) requests to each of \(urls.count) hosts\n\nloops       in all      CPU")
        for loops in [1, 2, 4] {
            let configuration = ConnectionTuning.configuration()
            configuration.curl.eventLoops = loops
            let session = URLSession(configuration: configuration)
            // Connections first.
            try await load(session, times: 6)
            let before = Self.processorTime
            let duration = try await load(session, times: requests)
            let columns = ["\(loops)", duration.inMilliseconds, (Self.processorTime - before).inMilliseconds]
            print(columns.map { $0.padding(toLength: 12, withPad: " ", startingAt: 0) }.joined())
            session.invalidateAndCancel()
        }
    }

    @discardableResult
    private func load(_ session: URLSession, times count: Int) async throws -> Duration {
        try await ContinuousClock().measure {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for url in urls { group.addTask { _ = try await session.load(url, times: count) } }
                try await group.waitForAll()
            }
        }
    }

    /// Of the whole process, in user and kernel mode.
    private static var processorTime: Duration {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
