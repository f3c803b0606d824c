import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("The same resume data can be used more than once", .timeLimit(.minutes(1)))
struct ResumeTwiceTests {
    @Test("Downloads from the same resume data at once each get an intact file")
    func atOnce() async throws {
        let gate = Gate()
        let origin = try ResumeOrigin { request in
            let response = LoopbackServer.Response.resource(ResumeOrigin.body, for: request, etag: ResumeOrigin.etag)
            return response.after([.waitFor(gate)])
        }
        let paused = try await PausedDownload(from: origin)
        let session = URLSession.forDownloads(to: paused.directory)
        try await withThrowingTaskGroup(of: Data.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    let (file, _) = try await session.download(resumeFrom: paused.resumeData)
                    defer { try? FileManager.default.removeItem(at: file) }
                    return try Data(contentsOf: file)
                }
            }
            // All of them have their partial file before the first is done.
            try await origin.server.waitForRequests(5)
            gate.open()
            for try await content in group { #expect(content == ResumeOrigin.bytes) }
        }
        #expect(origin.server.requests.dropFirst().allSatisfy { $0.header("Range") == "bytes=150000-" })
        #expect(paused.directory.content == [])
    }

    @Test("The second of two downloads from the same resume data starts from zero")
    func oneAfterTheOther() async throws {
        let paused = try await PausedDownload(from: ResumeOrigin())
        #expect(try await paused.resume().hasContinued)
        let second = try await paused.resume()
        #expect(second.error == nil)
        #expect(second.body == ResumeOrigin.bytes)
        #expect(!second.hasContinued)
        #expect(paused.directory.content == [])
    }

    @Test("A resumed download that was cancelled leaves its resume data as good as before")
    func afterCancelling() async throws {
        let origin = try ResumeOrigin { request in
            guard request.ordinal == 2 else {
                return .resource(ResumeOrigin.body, for: request, etag: ResumeOrigin.etag)
            }
            return LoopbackServer.Response.pieces([
                .body(ResumeOrigin.body[150_000..<200_000]), .never, .body(ResumeOrigin.body[200_000..<400_000]),
            ]).partial("bytes 150000-399999/400000")
        }
        let paused = try await PausedDownload(from: origin)
        let delegate = RecordingDelegate()
        let session = URLSession.forDownloads(to: paused.directory, delegate: delegate)
        let task = session.downloadTask(withResumeData: paused.resumeData)
        task.resume()
        try await delegate.wait(for: task) { $0.isWritten(upTo: ResumeOrigin.heldAt + 1) }
        task.cancel()
        #expect(try await delegate.completion(of: task)?.code == .cancelled)
        #expect(paused.directory.content.count == 1)
        let resumed = try await paused.resume()
        #expect(resumed.hasContinued)
        #expect(resumed.body == ResumeOrigin.bytes)
    }
}
