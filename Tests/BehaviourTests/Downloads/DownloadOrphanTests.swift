import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Downloads whose process has ended in the middle", .timeLimit(.minutes(1)))
struct DownloadOrphanTests {
    enum Ending: Sendable, CaseIterable { case exit, kill }

    /// Ends a process amid downloads to `directory`.
    private static func endProcess(_ ending: Ending, amidDownloadsTo directory: URL) async throws {
        let gate = Gate()
        let server = try LoopbackServer { _ in
            .pieces([.body(.generated(length: 500_000)), .waitFor(gate), .body(.generated(length: 500_000))])
        }
        defer { server.stop() }
        // It exits when that many bytes have come; with more, it waits until it is killed.
        let limit = ending == .exit ? "100000" : "\(Int.max)"
        let before = try contentCount(of: directory)
        let helper = try ChildProcess(
            [TestHelper.path(), "exit", server.url("/").absoluteString, limit, "downloads"],
            environment: ["TMPDIR": directory.path]
        )
        if ending == .kill {
            try await server.waitForBytesSent(4 * 500_000)
            try await eventually { try contentCount(of: directory) != before }
            helper.kill()
        }
        #expect(await helper.ending() == (ending == .exit ? .exit(0) : .signal(SIGKILL)))
    }

    private static func contentCount(of directory: URL) throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: directory.path).count
    }

    /// A process that downloads to `directory` and stays, until it is killed.
    private static func visit(_ directory: URL, _ server: LoopbackServer) throws -> ChildProcess {
        try ChildProcess(
            [TestHelper.path(), "exit", server.url("/").absoluteString, "\(Int.max)"],
            environment: ["TMPDIR": directory.path]
        )
    }

    @Test(
        "A dead process's files go when another process downloads there, but for those that resume data names",
        arguments: Ending.allCases
    )
    func orphans(ending: Ending) async throws {
        let paused = try await PausedDownload(from: ResumeOrigin())
        let kept = paused.directory.content
        try await Self.endProcess(ending, amidDownloadsTo: paused.directory.url)
        #expect(paused.directory.content.count > kept.count)
        let server = try LoopbackServer { _ in .text("fine") }
        defer { server.stop() }
        let visitor = try Self.visit(paused.directory.url, server)
        try await eventually { paused.directory.content == kept }
        visitor.kill()
        let resumed = try await paused.resume()
        #expect(resumed.hasContinued && resumed.body == ResumeOrigin.bytes)
    }

    @Test("The file of a download that another process is still writing stays")
    func others() async throws {
        let gate = Gate()
        let origin = try ResumeOrigin(next: { request in
            .resource(ResumeOrigin.body, for: request, etag: ResumeOrigin.etag).after([.waitFor(gate)])
        })
        let paused = try await PausedDownload(from: origin)
        let destination = try TemporaryDirectory()
        let resumeData = try destination.file("resume", paused.resumeData)
        let finished = destination.url.appendingPathComponent("finished")
        let helper = try TestHelper.start("download", resumeData.path, paused.directory.url.path, finished.path, "0")
        // It has copied the partial file by then.
        try await origin.server.waitForRequests(2)
        let orphan = try paused.directory.file(
            "CurlNetworkingTransfer_\(String(repeating: "0", count: 32)).tmp",
            Data()
        )
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: orphan.path)
        let server = try LoopbackServer { _ in .text("fine") }
        defer { server.stop() }
        let visitor = try Self.visit(paused.directory.url, server)
        try await eventually { !FileManager.default.fileExists(atPath: orphan.path) }
        visitor.kill()
        gate.open()
        #expect(await helper.ending() == .exit(0))
        #expect(try Data(contentsOf: finished) == ResumeOrigin.bytes)
    }
}
