import CurlNetworking
import Foundation
import TestSupport

/// Very many connections at once.
enum Crowd {
    private static let few = 64
    /// Connections to the same address.
    private static let atEachOrigin = 80
    /// What a process has besides its connections.
    private static let otherDescriptors = 100

    static func measure(_ server: LoadServer, _ size: Load.Size, _ report: inout Report) async throws {
        let possible = min(size.connections, report.limit - otherDescriptors)
        if possible < size.connections {
            report.add(
                "connections at once, as the limit of \(report.limit) descriptors can't be raised",
                "\(possible)"
            )
        }
        let requests = size.isTimed ? 3 * possible : 2 * possible
        let fewCost = try await cost(of: requests, over: few, server, &report)
        let manyCost = try await cost(of: requests, over: possible, server, &report)
        report.add("CPU for a request, \(few) connections", "\(Int(fewCost)) µs")
        report.add("CPU for a request, \(possible) connections", "\(Int(manyCost)) µs")
        report.addRatio("CPU for a request, \(possible) ÷ \(few) connections", manyCost / fewCost, atMost: 1.3, size)
    }

    /// In microseconds for each request, once all connections are open.
    private static func cost(
        of requests: Int,
        over connections: Int,
        _ server: LoadServer,
        _ report: inout Report
    ) async throws -> Double {
        let leaks = await LeakCheck()
        let invalidation = Invalidation()
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        configuration.httpCookieStorage = nil
        configuration.httpMaximumConnectionsPerHost = connections
        configuration.timeoutIntervalForRequest = 600
        let session = URLSession(configuration: configuration, delegate: invalidation, delegateQueue: nil)
        @Sendable func address(_ index: Int) -> Int { 1 + index / atEachOrigin }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<connections {
                let url = server.url("/together/\(connections)", address: address(index))
                group.addTask { _ = try await session.data(from: url) }
            }
            try await group.waitForAll()
        }
        let open = try await session.data(from: server.url("/open")).0
        let count = Int(String(decoding: open, as: UTF8.self)) ?? 0
        report.add(
            "connections that were open at once",
            "\(count)",
            promised: "\(connections)",
            holds: count >= connections
        )

        let made = Counter()
        let microseconds = try await CPU.microseconds {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for index in 0..<connections {
                    let url = server.url("/hello", address: address(index))
                    group.addTask {
                        while made.next() <= requests { _ = try await session.data(from: url) }
                    }
                }
                try await group.waitForAll()
            }
        }
        session.finishTasksAndInvalidate()
        await invalidation.wait()
        await leaks.check("\(connections) connections", &report)
        return microseconds / Double(requests)
    }
}

/// Waits for the end of a session.
final class Invalidation: NSObject, URLSessionDelegate, Sendable {
    private let pair = AsyncStream<Void>.makeStream()

    func wait() async {
        for await _ in pair.stream {}
    }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        pair.continuation.finish()
    }
}

extension Report {
    mutating func addRatio(_ name: String, _ ratio: Double, atMost limit: Double, _ size: Load.Size) {
        guard size.isTimed else { return }
        add(name, String(format: "%.2f ×", ratio), promised: String(format: "≤ %.1f ×", limit), holds: ratio <= limit)
    }
}
