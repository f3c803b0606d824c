import Foundation
import CurlNetworkingParityStage
import Synchronization

/// One scenario on one transport, in a process of its own: a crash or hang is a result and not the end of the run.
enum Child {
    /// The argument with which this program becomes such a process.
    static let option = "--child"

    // MARK: - In the child

    /// Runs a scenario and logs what happens. The process ends here.
    static func perform(_ side: Side, _ name: String, in directory: URL) async throws -> Never {
        guard let scenario = side.scenarios.first(where: { $0.name == name }) else {
            throw UsageError(description: "There is no scenario “\(name)”.")
        }
        side.prepare()
        // It doesn't outlive a parent that was killed by much.
        alarm(120)
        let log = try Log(writingTo: directory.appendingPathComponent(logName))
        let stage = Stage(log: log, directory: directory)
        do {
            try await scenario.run(stage)
        } catch {
            stage.note("the scenario threw", ["error": "\(error)"])
        }
        stage.finish()
        log.end()
        // Nobody's clean-up is part of the scenario.
        _exit(0)
    }

    private static let logName = "log"

    // MARK: - In the parent

    /// Starts the process, and returns when it has ended or its time is over.
    static func run(_ scenario: Scenario, on side: Side) async throws -> Run {
        let directory = FileManager.default.temporaryDirectory
            .appendingPathComponent("urlsession-parity-\(UUID().uuidString)", isDirectory: true)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }

        let output = directory.appendingPathComponent("output")
        try Data().write(to: output)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = [option, side.rawValue, scenario.name, directory.path]
        process.environment = environment(directory)
        process.standardInput = FileHandle.nullDevice
        let file = try FileHandle(forWritingTo: output)
        // The process keeps it after its end, and Foundation traps when it starts one amid more than a thousand descriptors.
        defer { try? file.close() }
        process.standardOutput = file
        process.standardError = file

        let limit =
            switch side {
            case .stock: scenario.stockLimit ?? scenario.limit
            case .below: scenario.belowLimit ?? scenario.limit
            case .ours: scenario.limit
            }
        let isKilled = try await wait(for: process, limit: limit)
        let (events, isComplete) = Log.read(directory.appendingPathComponent(logName))
        let ending = ending(process, isKilled: isKilled, isComplete: isComplete, output)
        return Run(ending: ending, timeline: Timeline(events))
    }

    /// Returns whether it had to be killed.
    private static func wait(for process: Process, limit: Duration) async throws -> Bool {
        let isKilled = Mutex(false)
        let clock = DispatchSource.makeTimerSource(queue: .global())
        defer { clock.cancel() }
        clock.setEventHandler {
            guard process.isRunning else { return }
            isKilled.withLock { $0 = true }
            kill(process.processIdentifier, SIGKILL)
        }
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            process.terminationHandler = { _ in continuation.resume() }
            do {
                try process.run()
                clock.schedule(deadline: .now() + limit / .seconds(1))
                clock.resume()
            } catch {
                process.terminationHandler = nil
                clock.resume()
                continuation.resume(throwing: error)
            }
        }
        return isKilled.withLock { $0 }
    }

    private static func ending(
        _ process: Process,
        isKilled: Bool,
        isComplete: Bool,
        _ output: URL
    ) -> Run.Ending {
        if isComplete { return .completed }
        if isKilled { return .hung }
        let words = (try? String(contentsOf: output, encoding: .utf8)) ?? ""
        let line = words.split(separator: "\n").first { $0.contains("rror") } ?? words.split(separator: "\n").last
        return .crashed(line.map(String.init) ?? "silently, by signal \(process.terminationStatus)")
    }

    /// What could have an influence is the same on every machine; nothing is left of caches and cookies.
    private static func environment(_ directory: URL) -> [String: String] {
        var environment = ProcessInfo.processInfo.environment.filter { name, _ in
            !name.lowercased().hasSuffix("_proxy") && !name.hasPrefix("XDG_") && !name.hasPrefix("LC_")
        }
        environment["HOME"] = directory.path
        environment["TMPDIR"] = directory.path
        environment["LANG"] = "C.UTF-8"
        environment["SWIFT_BACKTRACE"] = "enable=no"
        return environment
    }
}
