import CurlNetworkingLoopbackServer
import Foundation
import TestSupport
import Testing

/// See `held-disk` in `Tests/Faults/faults.c`, and `HeldFilesCommand`.
@Suite("When a file system doesn't answer", .timeLimit(.minutes(2)))
struct HeldDiskTests {
    @Test(
        "No event loop waits for a file: none is opened, read, written, closed, renamed, removed or asked for there",
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
        let content = FaultServer.body("file")
        let server = try LoopbackServer { request in
            switch request.path {
            case "/echo": .echoBody(request)
            case "/endless": .generated(length: 1 << 40).throttled(bytesPerSecond: 10_000_000)
            default: .data(content)
            }
        }
        defer { server.stop() }
        let directory = try TemporaryDirectory()
        let folder = directory.url.appendingPathComponent("held", isDirectory: true)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        try content.write(to: folder.appendingPathComponent("upload"))
        let gate = directory.url.appendingPathComponent("gate")
        let counter = try directory.file("counter", Data(count: 8))
        let fault = Fault(kind: "held-disk", program: .helper, isForGood: false)
        var environment = fault.environment(
            at: 0,
            counter: counter,
            report: directory.url.appendingPathComponent("report")
        )
        environment["FAULT_HELD"] = folder.path
        environment["FAULT_GATE"] = gate.path
        environment["LD_PRELOAD"] = try await FaultStage.shared.value.library.path
        let helper = try ChildProcess(
            [TestHelper.path(), "held-files", server.url("/").absoluteString, folder.path],
            environment: environment
        )
        func waiting() throws -> UInt64 {
            try Data(contentsOf: counter).withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }
        }
        /// Requests are answered while all three transfers wait for their files.
        func expectAnswers() async throws {
            for _ in 0..<3 {
                helper.say("go")
                #expect(await helper.line() == "answered")
            }
        }

        // The files can't be opened.
        #expect(await helper.line() == "made")
        try Data().write(to: gate)
        helper.say("begin")
        try await eventually { try waiting() >= 3 }
        try await expectAnswers()
        // Each thread for files waits for one. A failure has none.
        helper.say("crowd")
        try await eventually { try waiting() >= 16 }
        helper.say("fail")
        #expect(await helper.line() == "refused")
        // They can be written and read now, and no longer.
        try FileManager.default.removeItem(at: gate)
        let outcomes = [await helper.line(), await helper.line()].compactMap { $0 }
        #expect(Set(outcomes) == ["upload 300000", "download 300000"])
        try Data().write(to: gate)
        try await eventually { try waiting() > 0 }
        try await expectAnswers()
        helper.say("cancel")
        try await expectAnswers()
        try FileManager.default.removeItem(at: gate)
        for _ in 0...20 { #expect(await helper.line() == "endless cancelled") }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["upload"])
        helper.say("end")
        #expect(await helper.ending() == .exit(0))
    }
}
