import CurlNetworkingLoopbackServer
import Foundation
import Synchronization
import TestSupport

/// What all runs with a fault share: the server, the library that makes calls fail, and what a run without a fault holds at its end.
final class FaultStage: Sendable {
    static let shared = Task { try await FaultStage() }

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private let server: LoopbackServer
    /// To be preloaded by whichever program calls are to fail in.
    let library: URL
    private let atEnd: ProcessUsage

    /// What a run says, each once, with what came of it.
    private static let steps: Set = [
        "data", "download", "upload", "interrupted-upload", "paused-upload", "cache", "resume", "cookies", "tls",
        "stream", "secure-stream", "web-socket", "end-of-session", "background-download", "background-upload",
        "end-of-background",
    ]
    private static let timeLimit = Duration.seconds(60)
    /// Held while files are open here, which a process that is started meanwhile would inherit.
    private static let files = Mutex<Void>(())

    private init() async throws {
        server = try FaultServer.start()
        // It is there for as long as the build is.
        library = Products.directory.appendingPathComponent("libfaults.so")
        let source = Products.sources.appendingPathComponent("Tests/Faults/faults.c")
        let compiler = try ChildProcess(
            ["clang", "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", library.path, source.path],
            mergesErrors: true
        )
        let complaints = await compiler.remainingLines()
        guard await compiler.ending() == .exit(0) else {
            throw Failure(description: complaints.joined(separator: "\n"))
        }
        let run = try await Self.run(nil, at: 0, with: library, on: server, like: nil)
        guard run.findings.isEmpty, run.errors.isEmpty else {
            throw Failure(description: "Without a fault: \(run.errors + run.findings)")
        }
        atEnd = run.atEnd
    }

    /// Runs the helper with the fault at its nth call.
    func run(_ fault: Fault, at number: Int) async throws -> FaultRun {
        try await Self.run(fault, at: number, with: library, on: server, like: atEnd)
    }

    private static func run(
        _ fault: Fault?,
        at number: Int,
        with library: URL,
        on server: LoopbackServer,
        like usual: ProcessUsage?
    ) async throws -> FaultRun {
        let (process, directory) = try files.withLock { _ in try start(fault, at: number, with: library, on: server) }
        let folder = directory.url
        let watchdog = Task {
            try await Task.sleep(for: timeLimit)
            process.kill()
        }
        defer { watchdog.cancel() }

        var run = FaultRun(fault)
        var isOver = false
        while !isOver, let line = await process.line() {
            isOver = line == "end"
            if !isOver { run.note(line) }
        }
        run.expect(isOver, "it ended, or hung, after \(run.steps.sorted())")
        run.expect(run.steps == steps, "missing: \(steps.subtracting(run.steps).sorted())")
        run.atEnd = ProcessUsage(of: process.pid)
        if let usual {
            run.atEnd = await .settled(like: usual, of: process.pid, moreThreads: 1000)
            let hasLeaked = run.atEnd.descriptors.count > usual.descriptors.count
            run.expect(!hasLeaked, "descriptors: \(run.atEnd.kinds) and not \(usual.kinds)")
        } else {
            run.atEnd = await .atRest(of: process.pid)
        }
        process.say("bye")
        let ending = await process.ending()
        run.expect(ending == .exit(0), "\(ending)")
        await run.endAgent(folder)
        files.withLock { _ in run.checkFiles(folder, port: server.port, number) }
        return run
    }

    /// Starts the helper in a folder of its own.
    private static func start(
        _ fault: Fault?,
        at number: Int,
        with library: URL,
        on server: LoopbackServer
    ) throws -> (ChildProcess, TemporaryDirectory) {
        let directory = try TemporaryDirectory()
        let folder = directory.url
        for name in ["temporary", "output", "home"] {
            let url = folder.appendingPathComponent(name)
            try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
        }
        _ = try directory.file("upload", FaultServer.body("upload"))
        let counter = try directory.file("counter", Data(count: 8))
        let report = folder.appendingPathComponent("report")
        var environment = fault?.environment(at: number, counter: counter, report: report) ?? [:]
        let home = folder.appendingPathComponent("home").path
        for name in ["HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "TMPDIR"] {
            environment[name] = home
        }
        environment["LD_PRELOAD"] = library.path
        // For a held disk, which here holds nothing: there is no such file.
        environment["FAULT_HELD"] = folder.path
        environment["FAULT_GATE"] = folder.appendingPathComponent("gate").path
        let agent = try Products.program("curlnetworking-agent")
        let nginx = try TLSNginx.shared()
        let secureServer = nginx.url(.showing(.good)).port ?? 0
        let words = [
            "faults", "\(server.port)", "\(secureServer)", nginx.site.authority.path, folder.path, agent,
        ]
        return (try ChildProcess([TestHelper.path()] + words, environment: environment), directory)
    }
}
