import CurlNetworking
import Foundation

/// Whether two event loops decode twice as much as one: as much more as the machine has to give, and at the same cost.
enum Loops {
    private struct Rate {
        /// In bytes per second.
        var perSecond = 0.0
        /// In bytes per second of CPU time.
        var perCPUSecond = 0.0
    }

    static func measure(_ server: LoadServer, _ size: Load.Size, _ report: inout Report) async throws {
        let count = max(1, size.megabytes * 1_000_000 / LoadServer.gzipLength)
        // Whatever else the machine does takes from all of them.
        var (one, two) = (Rate(), Rate())
        var (oneCounts, twoCount) = (0.0, 0.0)
        for _ in 0..<(size.isTimed ? 5 : 1) {
            one = best(one, try await rate(loops: 1, count, server))
            two = best(two, try await rate(loops: 2, count, server))
            guard size.isTimed else { continue }
            oneCounts = max(oneCounts, countingRate(threads: 1))
            twoCount = max(twoCount, countingRate(threads: 2))
        }
        guard size.isTimed else { return }
        report.add("gzip decoded by one loop", String(format: "%.0f MB/s", one.perSecond / 1e6))
        report.add("gzip decoded by two loops", String(format: "%.0f MB/s", two.perSecond / 1e6))
        let (ratio, possible) = (two.perSecond / one.perSecond, twoCount / oneCounts)
        report.add("what two threads count ÷ one, at the same time", String(format: "%.2f ×", possible))
        report.add(
            "gzip decoded by two loops ÷ by one",
            String(format: "%.2f ×", ratio),
            promised: String(format: "≥ 0.9 of that: %.2f ×", 0.9 * possible),
            holds: ratio >= 0.9 * possible
        )
        report.addRatio("CPU for the same, two loops ÷ one", one.perCPUSecond / two.perCPUSecond, atMost: 1.1, size)
    }

    private static func best(_ one: Rate, _ other: Rate) -> Rate {
        Rate(
            perSecond: max(one.perSecond, other.perSecond),
            perCPUSecond: max(one.perCPUSecond, other.perCPUSecond)
        )
    }

    /// Two origins, each of which belongs to a loop where there are two.
    private static func rate(loops: Int, _ count: Int, _ server: LoadServer) async throws -> Rate {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        configuration.curl.eventLoops = loops
        let session = URLSession(configuration: configuration)
        let start = ContinuousClock.now
        let microseconds = try await CPU.microseconds {
            try await withThrowingTaskGroup(of: Int.self) { group in
                for origin in 0..<2 {
                    group.addTask {
                        var length = 0
                        for _ in 0..<count {
                            let (bytes, _) = try await session.bytes(from: server.url("/gzip", port: origin))
                            for try await chunk in bytes.chunks { length += chunk.count }
                        }
                        return length
                    }
                }
                for try await length in group where length != count * LoadServer.gzipLength {
                    throw LoadServer.Failure(description: "\(length) bytes instead of \(count * LoadServer.gzipLength)")
                }
            }
        }
        session.invalidateAndCancel()
        let bytes = Double(2 * count * LoadServer.gzipLength)
        return Rate(
            perSecond: bytes / ((ContinuousClock.now - start) / .seconds(1)),
            perCPUSecond: bytes / microseconds * 1e6
        )
    }

    /// How fast threads count that have nothing to do with each other: what the machine has to give.
    private static func countingRate(threads: Int) -> Double {
        let steps = 300_000_000
        let start = ContinuousClock.now
        DispatchQueue.concurrentPerform(iterations: threads) { thread in
            var number = UInt64(thread)
            for _ in 0..<steps { number = number &* 6_364_136_223_846_793_005 &+ 1 }
            withExtendedLifetime(number) {}
        }
        return Double(threads * steps) / ((ContinuousClock.now - start) / .seconds(1))
    }
}
