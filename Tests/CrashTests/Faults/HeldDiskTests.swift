import CurlNetworkingLoopbackServer
import Foundation
import TestSupport
import Testing

/// See `held-disk` in `Tests/Faults/faults.c`, and `HeldFilesCommand`.
@Suite("When a file system doesn't answer", .timeLimit(.minutes(2)))
struct HeldDiskTests {
    private static let content = FaultServer.body("file")

    private static func server() throws -> LoopbackServer {
        try LoopbackServer { request in
            switch request.path {
            case "/echo": .echoBody(request)
            case "/endless": .generated(length: 1 << 40).throttled(bytesPerSecond: 10_000_000)
            default: .data(content)
            }
        }
    }

    @Test(
        "No file is opened, read, written, closed, renamed, removed or asked for on an event loop",
        .enabled(if: !ProcessUsage.isSanitized),
        arguments: Fault.Program.allCases
    )
    func loops(program: Fault.Program) async throws {
        let stage = try await FaultStage.shared.value
        let run = try await stage.run(Fault(kind: "held-disk", program: program, isForGood: false), at: 0)
        #expect(run.findings == [], "\(run.report)")
        #expect(run.errors == [])
    }

    @Test(
        "Uploads and downloads with files there wait, requests and errors don't, and nothing is left of what was cancelled",
        .enabled(if: !ProcessUsage.isSanitized)
    )
    func held() async throws {
        let server = try Self.server()
        defer { server.stop() }
        let held = try HeldFolder(Self.content)
        let helper = try ChildProcess(
            [TestHelper.path(), "held-files", server.url("/").absoluteString, held.url.path],
            environment: held.environment(library: try await FaultStage.shared.value.library)
        )
        /// Requests are answered while all three transfers wait for their files.
        func expectAnswers() async throws {
            for _ in 0..<3 {
                helper.say("go")
                #expect(await helper.line() == "answered")
            }
        }

        // The files can't be opened.
        #expect(await helper.line() == "made")
        try held.close()
        helper.say("begin")
        try await eventually { try held.waiting() >= 3 }
        try await expectAnswers()
        // Each thread for downloads' files waits for one, besides the upload's. A failure has none.
        helper.say("crowd")
        try await eventually { try held.waiting() >= 17 }
        helper.say("fail")
        #expect(await helper.line() == "refused")
        // They can be written and read now, and no longer.
        try held.open()
        let outcomes = [await helper.line(), await helper.line()].compactMap { $0 }
        #expect(Set(outcomes) == ["upload 300000", "download 300000"])
        try held.close()
        try await eventually { try held.waiting() > 0 }
        try await expectAnswers()
        helper.say("cancel")
        try await expectAnswers()
        try held.open()
        for _ in 0...20 { #expect(await helper.line() == "endless cancelled") }
        #expect(try FileManager.default.contentsOfDirectory(atPath: held.url.path) == ["upload"])
        helper.say("end")
        #expect(await helper.ending() == .exit(0))
    }

    @Test(
        "However many files are read there, downloads to another disk finish, and end when they are cancelled",
        .enabled(if: !ProcessUsage.isSanitized)
    )
    func heldSources() async throws {
        let server = try Self.server()
        defer { server.stop() }
        let held = try HeldFolder(Self.content)
        let healthy = try TemporaryDirectory()
        let helper = try ChildProcess(
            [TestHelper.path(), "held-sources", server.url("/").absoluteString, held.url.path, healthy.url.path],
            environment: held.environment(library: try await FaultStage.shared.value.library)
        )
        #expect(await helper.line() == "made")
        try held.close()
        helper.say("begin")
        // More than there are threads for downloads' files, of each kind.
        try await eventually { try held.waiting() == 40 }
        helper.say("download")
        #expect(await helper.line() == "download 300000")
        helper.say("endless")
        #expect(await helper.line() == "endless cancelled")
        try held.open()
        var outcomes: [String: Int] = [:]
        for _ in 0..<40 { outcomes[await helper.line() ?? "", default: 0] += 1 }
        #expect(outcomes == ["load 300000": 20, "upload 300000": 20])
        helper.say("end")
        #expect(await helper.ending() == .exit(0))
    }
}

/// A folder with a file "upload", on which a program's calls wait while it is closed.
private struct HeldFolder {
    let url: URL
    private let directory: TemporaryDirectory
    private let gate: URL
    private let counter: URL

    init(_ content: Data) throws {
        directory = try TemporaryDirectory()
        url = directory.url.appendingPathComponent("held", isDirectory: true)
        gate = directory.url.appendingPathComponent("gate")
        counter = try directory.file("counter", Data(count: 8))
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
        try content.write(to: url.appendingPathComponent("upload"))
    }

    /// For the helper.
    func environment(library: URL) -> [String: String] {
        let fault = Fault(kind: "held-disk", program: .helper, isForGood: false)
        let report = directory.url.appendingPathComponent("report")
        var environment = fault.environment(at: 0, counter: counter, report: report)
        environment["FAULT_HELD"] = url.path
        environment["FAULT_GATE"] = gate.path
        environment["LD_PRELOAD"] = library.path
        return environment
    }

    func close() throws {
        try Data().write(to: gate)
    }

    func open() throws {
        try FileManager.default.removeItem(at: gate)
    }

    /// How many calls wait now.
    func waiting() throws -> UInt64 {
        try Data(contentsOf: counter).withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }
    }
}
