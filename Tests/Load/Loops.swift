import CurlNetworking
import Foundation

/// Whether two event loops decode twice as much as one.
enum Loops {
    static func measure(_ server: LoadServer, _ size: Load.Size, _ report: inout Report) async throws {
        let count = max(1, size.megabytes * 1_000_000 / LoadServer.gzipLength)
        // Whatever else the machine does takes from both.
        var (one, two) = (0.0, 0.0)
        for _ in 0..<3 {
            one = max(one, try await rate(loops: 1, count, server))
            two = max(two, try await rate(loops: 2, count, server))
        }
        guard size.isTimed else { return }
        report.add("gzip decoded by one loop", String(format: "%.0f MB/s", one / 1e6))
        let ratio = two / one
        let cores = ProcessInfo.processInfo.activeProcessorCount
        report.add(
            "gzip decoded by two loops ÷ by one, on \(cores) cores",
            String(format: "%.2f ×", ratio),
            promised: "≥ 1.8 ×",
            holds: ratio >= 1.8
        )
    }

    /// In bytes per second. Two origins, each of which belongs to a loop where there are two.
    private static func rate(loops: Int, _ count: Int, _ server: LoadServer) async throws -> Double {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        configuration.curl.eventLoops = loops
        let session = URLSession(configuration: configuration)
        let start = ContinuousClock.now
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
        session.invalidateAndCancel()
        return Double(2 * count * LoadServer.gzipLength) / ((ContinuousClock.now - start) / .seconds(1))
    }
}
