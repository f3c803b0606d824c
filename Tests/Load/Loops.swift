import CurlNetworking
import Foundation
import TestSupport

/// Whether two event loops do twice as much as one, or as much more as the machine has to give, and at the same cost.
///
/// There are two origins, each of which belongs to a loop where there are two.
enum Loops {
    /// What is done again and again for each origin.
    private struct Work {
        let name: String
        let urls: [URL]
        let count: Int
        /// Whose word counts for https.
        let authority: URL
        /// Of each response.
        let length: Int?
        /// How much more two loops have to do than one; nil where that is up to the server, which needs the same processors.
        let goal: Double?
    }

    static func measure(_ server: LoadServer, _ size: Load.Size, _ report: inout Report) async throws {
        let nginx = try TLSNginx.shared()
        let authority = nginx.site.authority
        let works = [
            Work(
                name: "gzip decoded",
                urls: (0..<2).map { server.url("/gzip", port: $0) },
                count: max(1, size.megabytes * 1_000_000 / CompressedText.length),
                authority: authority,
                length: CompressedText.length,
                goal: 1.8
            ),
            Work(
                name: "TLS handshakes",
                urls: [nginx.url(.showing(.good)), nginx.url(.new)],
                count: size.megabytes,
                authority: authority,
                length: nil,
                goal: nil
            ),
        ]
        let raw = try await CProgram("threads")
        for work in works { try await measure(work, raw, size, &report) }
    }

    private static func measure(
        _ work: Work,
        _ raw: CProgram,
        _ size: Load.Size,
        _ report: inout Report
    ) async throws {
        // The best of each, in turns: whatever else the machine does takes from all of them.
        var ours = [Cost(), Cost()]
        var threads = [Double.infinity, .infinity]
        for _ in 0..<(size.isTimed ? 3 : 1) {
            for index in 0..<2 {
                let cost = try await run(work, loops: index + 1)
                ours[index].seconds = min(ours[index].seconds, cost.seconds)
                ours[index].microsecondsOfCPU = min(ours[index].microsecondsOfCPU, cost.microsecondsOfCPU)
                threads[index] = min(threads[index], try await seconds(work, threads: index + 1, raw))
            }
        }
        guard size.isTimed else { return }
        let ratio = ours[0].seconds / ours[1].seconds
        let possible = threads[0] / threads[1]
        report.add("\(work.name) by two threads in C ÷ by one", String(format: "%.2f ×", possible))
        let promised = work.goal.map { min($0, 0.95 * possible) }
        report.add(
            "\(work.name) by two loops ÷ by one",
            String(format: "%.2f ×", ratio),
            promised: promised.map { String(format: "≥ %.2f ×", $0) } ?? "",
            holds: promised.map { ratio >= $0 }
        )
        let cpuRatio = ours[1].microsecondsOfCPU / ours[0].microsecondsOfCPU
        report.addRatio("CPU for the same, two loops ÷ one", cpuRatio, atMost: 1.1, size)
    }

    private struct Cost {
        var seconds = Double.infinity
        var microsecondsOfCPU = Double.infinity
    }

    private static func run(_ work: Work, loops: Int) async throws -> Cost {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        configuration.curl.eventLoops = loops
        configuration.curl.tls.additionalTrustRoots = [.file(work.authority)]
        configuration.curl.configureTransfer = { transfer, request in
            guard request.url?.scheme == "https" else { return }
            try transfer.set("FRESH_CONNECT", true)
            try transfer.set("SSL_SESSIONID_CACHE", false)
        }
        let session = URLSession(configuration: configuration)
        defer { session.invalidateAndCancel() }
        let start = ContinuousClock.now
        let microseconds = try await CPU.microseconds {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for url in work.urls {
                    group.addTask {
                        for _ in 0..<work.count { try await load(url, work.length, session) }
                    }
                }
                try await group.waitForAll()
            }
        }
        return Cost(seconds: (ContinuousClock.now - start) / .seconds(1), microsecondsOfCPU: microseconds)
    }

    private static func load(_ url: URL, _ expected: Int?, _ session: URLSession) async throws {
        var length = 0
        let (bytes, _) = try await session.bytes(from: url)
        for try await chunk in bytes.chunks { length += chunk.count }
        guard length == expected ?? length else {
            throw LoadServer.Failure(description: "\(length) bytes instead of \(expected ?? 0)")
        }
    }

    private static func seconds(_ work: Work, threads: Int, _ raw: CProgram) async throws -> Double {
        let words = ["\(threads)", "\(work.count)", work.authority.path] + work.urls.map(\.absoluteString)
        return try await raw.run(words)
    }
}
