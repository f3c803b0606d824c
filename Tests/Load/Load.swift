import CurlNetworking
import Foundation
import TestSupport

/// How a process bears very many of everything. Prints a table, and fails where something isn't as promised.
///
///     load [--small] [NAME…]     measures; --small: hundreds, and without looking at times
///     load serve                 the server that it starts in another process
@main
struct Load {
    /// How much is measured.
    struct Size {
        let connections: Int
        let requests: Int
        let sessions: Int
        let churn: Int
        let fewTasks: Int
        let manyTasks: Int
        let megabytes: Int
        /// Whether times are looked at.
        let isTimed: Bool

        static let large = Size(
            connections: 20_000,
            requests: 1_000_000,
            sessions: 1000,
            churn: 50_000,
            fewTasks: 1000,
            manyTasks: 50_000,
            megabytes: 512,
            isTimed: true
        )
        static let small = Size(
            connections: 300,
            requests: 1000,
            sessions: 50,
            churn: 500,
            fewTasks: 50,
            manyTasks: 500,
            megabytes: 4,
            isTimed: false
        )
    }

    typealias Measurement = @Sendable (LoadServer, Size, inout Report) async throws -> Void

    private static let measurements: KeyValuePairs<String, Measurement> = [
        "requests": Leaks.requests, "sessions": Leaks.sessions, "churn": Leaks.churn, "waiting": Waiting.measure,
        "loops": Loops.measure, "connections": Crowd.measure,
    ]

    static func main() async {
        do {
            var words = Array(CommandLine.arguments.dropFirst())
            let limit = Descriptors.raiseLimit(to: 2 * Size.large.connections)
            if words == ["serve"] { return try await LoadServer.serve() }
            let size = words.contains("--small") ? Size.small : .large
            words.removeAll { $0 == "--small" }
            let names = measurements.map(\.key)
            if let unknown = words.first(where: { !names.contains($0) }) {
                complain("There is no measurement \(unknown), only \(names.joined(separator: ", ")).")
                exit(2)
            }
            let server = try await LoadServer()
            // Makes what lives as long as the process.
            let first = URLSession(configuration: .ephemeral)
            _ = try await first.data(from: server.url("/hello"))
            first.invalidateAndCancel()
            var report = Report(limit: limit)
            for (name, measure) in measurements where words.isEmpty || words.contains(name) {
                try await measure(server, size, &report)
            }
            report.end()
            exit(report.failures == 0 ? 0 : 1)
        } catch {
            complain("\(error)")
            exit(1)
        }
    }

    private static func complain(_ text: String) {
        FileHandle.standardError.write(Data((text + "\n").utf8))
    }
}

/// The table, printed line by line.
struct Report {
    private(set) var failures = 0
    /// How many descriptors a process may have.
    let limit: Int
    /// In which way less was measured than was to be.
    var shortfall: String?

    init(limit: Int) {
        self.limit = limit
        Self.print("| | measured | promised |")
        Self.print("| --- | ---: | ---: |")
    }

    /// - Parameters:
    ///   - holds: Whether it is as promised; nil where nothing is.
    mutating func add(_ name: String, _ value: String, promised: String = "", holds: Bool? = nil) {
        if holds == false { failures += 1 }
        Self.print("| \(name) | \(value) | \(promised)\(holds == false ? " ✘" : "") |")
    }

    func end() {
        if let shortfall { Self.print(shortfall) }
    }

    private static func print(_ line: String) {
        FileHandle.standardOutput.write(Data((line + "\n").utf8))
    }
}

/// The CPU time of this process.
enum CPU {
    static var microseconds: Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1e3
    }

    static func microseconds(_ body: () async throws -> Void) async rethrows -> Double {
        let start = microseconds
        try await body()
        return microseconds - start
    }
}

enum Descriptors {
    /// Raises the process's limit as far as the system lets it, and returns it. Processes that are started inherit it.
    static func raiseLimit(to wanted: Int) -> Int {
        let kind = __rlimit_resource_t(UInt32(RLIMIT_NOFILE.rawValue))
        var limit = rlimit()
        getrlimit(kind, &limit)
        var higher = rlimit(rlim_cur: rlim_t(wanted), rlim_max: max(rlim_t(wanted), limit.rlim_max))
        if setrlimit(kind, &higher) != 0 {
            // Only the superuser may raise the upper limit, and not in every container.
            higher = rlimit(rlim_cur: min(rlim_t(wanted), limit.rlim_max), rlim_max: limit.rlim_max)
            setrlimit(kind, &higher)
        }
        getrlimit(kind, &limit)
        return Int(limit.rlim_cur)
    }
}
