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
            report.shortfall =
                "There were only \(possible) connections instead of \(size.connections): a process may have \(report.limit) descriptors here."
        }
        let requests = size.isTimed ? 3 * possible : 2 * possible
        let few = try await cost(of: requests, over: few, server, &report)
        let many = try await cost(of: requests, over: possible, server, &report)
        report.add("CPU for a request, \(self.few) connections", "\(Int(few.allBusy)) µs")
        report.add("CPU for a request, \(possible) connections", "\(Int(many.allBusy)) µs")
        report.addRatio("the latter ÷ the former", many.allBusy / few.allBusy, atMost: 1.3, size)
        let name = "the same where \(self.few) of the \(possible) connections are busy at a time"
        report.addRatio(name, many.fewBusy / few.fewBusy, atMost: 1.3, size)
        guard size.isTimed else { return }
        let raw = try await RawCrowd(server, atEachAddress: atEachOrigin)
        let rawFew = try await raw.cost(of: requests, over: self.few)
        let rawMany = try await raw.cost(of: requests, over: possible)
        report.add("CPU for a request by raw libcurl in C, \(self.few) connections", "\(Int(rawFew)) µs")
        report.add("CPU for a request by raw libcurl in C, \(possible) connections", "\(Int(rawMany)) µs")
        report.add("the latter ÷ the former", String(format: "%.2f ×", rawMany / rawFew))
    }

    /// In microseconds for each request, once all connections are open: with a request on each of them, and with requests on few of them at
    /// a time.
    private static func cost(
        of requests: Int,
        over connections: Int,
        _ server: LoadServer,
        _ report: inout Report
    ) async throws -> (allBusy: Double, fewBusy: Double) {
        let leaks = await LeakCheck()
        let open = Connections(connections, to: server)
        let count = try await open.make()
        report.add(
            "connections that were open at once",
            "\(count)",
            promised: "\(connections)",
            holds: count >= connections
        )
        let allBusy = try await CPU.microseconds { try await open.askOnAll(requests) }
        let fewBusy = try await CPU.microseconds { try await open.askOnFew(requests) }
        await open.close()
        await leaks.check("\(connections) connections", &report)
        return (allBusy / Double(requests), fewBusy / Double(requests))
    }
}

extension Crowd {
    /// Connections of one session.
    private struct Connections: Sendable {
        private let count: Int
        private let server: LoadServer
        private let session: URLSession
        private let invalidation = Invalidation()

        init(_ count: Int, to server: LoadServer) {
            (self.count, self.server) = (count, server)
            let configuration = URLSessionConfiguration.ephemeral
            configuration.urlCache = nil
            configuration.httpCookieStorage = nil
            configuration.httpMaximumConnectionsPerHost = count
            configuration.timeoutIntervalForRequest = 600
            session = URLSession(configuration: configuration, delegate: invalidation, delegateQueue: nil)
        }

        private func url(_ path: String, _ index: Int) -> URL {
            server.url(path, address: 1 + index / Crowd.atEachOrigin)
        }

        /// Opens them all, and returns how many are open then.
        func make() async throws -> Int {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for index in 0..<count {
                    group.addTask { _ = try await session.data(from: url("/together/\(count)", index)) }
                }
                try await group.waitForAll()
            }
            let open = try await session.data(from: server.url("/open")).0
            return Int(String(decoding: open, as: UTF8.self)) ?? 0
        }

        /// Has a request on each of them, until there have been so many.
        func askOnAll(_ requests: Int) async throws {
            let made = Counter()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for index in 0..<count {
                    let url = url("/hello", index)
                    group.addTask {
                        while made.next() <= requests { _ = try await session.data(from: url) }
                    }
                }
                try await group.waitForAll()
            }
        }

        /// The same with requests on few of them at a time.
        func askOnFew(_ requests: Int) async throws {
            let made = Counter()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<Crowd.few {
                    group.addTask {
                        while true {
                            let number = made.next()
                            guard number <= requests else { break }
                            _ = try await session.data(from: url("/hello", number % count))
                        }
                    }
                }
                try await group.waitForAll()
            }
        }

        /// Returns when the session is invalid.
        func close() async {
            session.finishTasksAndInvalidate()
            await invalidation.wait()
        }
    }
}

/// What the same requests cost a program in C that does nothing but call libcurl: `crowd.c`.
private struct RawCrowd {
    private let program: CProgram
    private let port: Int
    private let atEachAddress: Int

    init(_ server: LoadServer, atEachAddress: Int) async throws {
        (program, port, self.atEachAddress) = (try await CProgram("crowd"), server.url("/").port ?? 0, atEachAddress)
    }

    /// In microseconds for each request.
    func cost(of requests: Int, over connections: Int) async throws -> Double {
        try await program.run(["\(port)", "\(atEachAddress)", "\(connections)", "\(requests)"])
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
