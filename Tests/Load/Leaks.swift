import CurlNetworking
import Foundation
import TestSupport

/// Compares what the process holds with what it held before.
struct LeakCheck {
    private let before: ProcessUsage
    /// What the allocator may keep between blocks in use, in bytes.
    private let allowance: Int

    init(allowance: Int = 16 << 20) async {
        self.allowance = allowance
        ProcessUsage.trim()
        before = await .atRest()
    }

    func check(_ name: String, _ report: inout Report) async {
        _ = await ProcessUsage.settled(like: before)
        ProcessUsage.trim()
        let after = ProcessUsage()
        let descriptors = after.descriptors.count - before.descriptors.count
        let bytes = after.resident - before.resident
        report.add("descriptors after \(name)", "\(signed(descriptors))", promised: "≤ 0", holds: descriptors <= 0)
        report.add(
            "memory after \(name)",
            String(format: "%+.1f MB", Double(bytes) / 1e6),
            promised: "≤ \(allowance / 1_000_000) MB",
            holds: bytes <= ProcessUsage.growth(of: allowance)
        )
    }

    private func signed(_ number: Int) -> String { number > 0 ? "+\(number)" : "\(number)" }
}

/// What very many requests, sessions, cookies and stored responses leave behind: nothing.
enum Leaks {
    private static let atOnce = 64

    /// Calls `body` with the numbers up to `count`, several at once.
    private static func run(_ count: Int, _ body: @escaping @Sendable (Int) async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<min(atOnce, count) {
                group.addTask {
                    for number in stride(from: worker, to: count, by: atOnce) { try await body(number) }
                }
            }
            try await group.waitForAll()
        }
    }

    static func requests(_ server: LoadServer, _ size: Load.Size, _ report: inout Report) async throws {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpMaximumConnectionsPerHost = atOnce
        let session = URLSession(configuration: configuration)
        let load: @Sendable (Int) async throws -> Void = { _ in _ = try await session.data(from: server.url("/hello")) }
        // What lives as long as the session and the process. Requests that don't wait for each other may need fewer connections.
        try await run(atOnce) { _ in _ = try await session.data(from: server.url("/together/\(atOnce)")) }
        try await run(size.requests / 50, load)
        let leaks = await LeakCheck()
        let microseconds = try await CPU.microseconds { try await run(size.requests, load) }
        if size.isTimed { report.add("CPU for a request", "\(Int(microseconds / Double(size.requests))) µs") }
        await leaks.check("\(size.requests) requests", &report)
        session.invalidateAndCancel()
    }

    static func sessions(_ server: LoadServer, _ size: Load.Size, _ report: inout Report) async throws {
        let use: @Sendable (Int) async throws -> Void = { number in
            let session = URLSession(configuration: .ephemeral)
            _ = try await session.data(from: server.url("/hello"))
            // Half of them are only dropped.
            if number % 2 == 0 { session.invalidateAndCancel() }
        }
        // After as many the allocator has what it needs for them: a kilobyte that each session leaves behind shows.
        try await run(size.sessions, use)
        let leaks = await LeakCheck(allowance: 2 << 20)
        try await run(size.sessions, use)
        await leaks.check("\(size.sessions) sessions", &report)
    }

    /// Each response sets a cookie and is stored; both overflow all the time.
    static func churn(_ server: LoadServer, _ size: Load.Size, _ report: inout Report) async throws {
        let directory = try TemporaryDirectory()
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = CurlURLCache(
            memoryCapacity: 1 << 19,
            diskCapacity: 1 << 20,
            diskPath: directory.url.path
        )
        let session = URLSession(configuration: configuration)
        let load: @Sendable (Int) async throws -> Void = { number in
            _ = try await session.data(from: server.url("/cookie/\(number % 5000)"))
        }
        // Until both overflow.
        try await run(max(500, size.churn / 4), load)
        await session.flush()
        let leaks = await LeakCheck()
        try await run(size.churn, load)
        await session.flush()
        await leaks.check("\(size.churn) cookies and stored responses", &report)
        let used = configuration.urlCache?.currentDiskUsage ?? 0
        report.add("the cache of 1 MiB then has", "\(used / 1024) KiB", promised: "≤ 1024 KiB", holds: used <= 1 << 20)
        session.invalidateAndCancel()
    }
}
