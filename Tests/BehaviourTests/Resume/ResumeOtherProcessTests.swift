import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Resume data work in another process", .timeLimit(.minutes(1)))
struct ResumeOtherProcessTests {
    @Test("Another process continues a download where this one paused it, and says so")
    func otherProcess() async throws {
        let paused = try await PausedDownload(from: ResumeOrigin())
        let work = try TemporaryDirectory()
        let resumeData = try work.file("resume", paused.resumeData)
        let destination = work.url.appendingPathComponent("finished")
        let helper = try TestHelper.start(
            "download",
            resumeData.path,
            paused.directory.url.path,
            destination.path,
            "0"
        )
        let lines = await helper.remainingLines()
        #expect(await helper.ending() == .exit(0))
        #expect(lines.prefix(2) == ["started", "resumed 150000 400000"])
        #expect(lines.last == "finished")
        #expect(try Data(contentsOf: destination) == ResumeOrigin.bytes)
        #expect(paused.origin.server.requests.last?.header("Range") == "bytes=150000-")
        #expect(paused.directory.content == [])
    }

    @Test("This process continues a download that another one paused")
    func andBack() async throws {
        let origin = try ResumeOrigin { request in
            let response = LoopbackServer.Response.resource(ResumeOrigin.body, for: request, etag: ResumeOrigin.etag)
            switch request.ordinal {
            case 2: return response.throttled(bytesPerSecond: 500_000)
            // The helper goes on at once; it gets no further.
            case 3: return .never
            default: return response
            }
        }
        let paused = try await PausedDownload(from: origin)
        let work = try TemporaryDirectory()
        let resumeData = try work.file("resume", paused.resumeData)
        let helper = try TestHelper.start(
            "download",
            resumeData.path,
            paused.directory.url.path,
            work.url.path + "/finished",
            "50000"
        )
        while let line = await helper.line(), line != "stored" {}
        _ = try await origin.server.request(number: 3)
        helper.kill()
        #expect(await helper.ending() == .signal(SIGKILL))
        let resumed = try await paused.resume(Data(contentsOf: resumeData))
        #expect(resumed.error == nil)
        #expect(resumed.hasContinued)
        #expect(resumed.body == ResumeOrigin.bytes)
        let offset = origin.server.requests.last?.header("Range").flatMap { Int64($0.dropFirst(6).dropLast()) } ?? 0
        #expect(offset >= ResumeOrigin.heldAt + 50_000)
    }
}
