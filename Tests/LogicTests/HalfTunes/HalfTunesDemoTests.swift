import Foundation
import Testing

@testable import CurlNetworkingHalfTunes

@Suite("The demo of Half Tunes succeeds only if all of it held")
struct HalfTunesDemoTests {
    /// As it should be.
    private static func story() throws -> DemoStory {
        var story = DemoStory()
        story.isFirstSearchCancelled = true
        story.found = 4
        story.ranAtOnce = 4
        story.pausedAt = 40
        story.child = 4711
        story.childStatus = 0
        story.childResumedAt = 42
        story.rangeRequests = [.init(range: "bytes=42-", hasCondition: true, bytesSent: 60)]
        story.kill = DemoStory.Kill(
            process: 4712,
            positions: ["4": 30],
            wasKilled: true,
            isAgentGone: true,
            sent: ["4": 200],
            requests: 1,
            requestsAtEnd: 1,
            delivered: ["4"],
            nextStatus: 0
        )
        story.upload = DemoStory.Upload(
            length: 100,
            brokenAt: 50,
            requests: [.init(method: "POST"), .init(method: "HEAD"), .init(method: "PATCH", offset: "50")],
            receipt: .init(recordingUrl: "http://h/recordings/1.wav", length: 100, sha256: "digest")
        )
        let roles: [DemoStory.Role] = [.straight, .moved, .straight, .dropped, .survived]
        story.chapters = try roles.enumerated().map { index, role in
            let url = try #require(URL(string: "http://h/\(index)"))
            let item = DownloadItem(url: url, fileName: "\(index)", title: "Song \(index)", sha256: "digest")
            var chapter = DemoStory.Chapter(item: item, role: role, download: Download(item))
            if role == .dropped {
                _ = chapter.download?.cancel()
            } else {
                chapter.bytes = 100
                chapter.digest = "digest"
            }
            return chapter
        }
        return story
    }

    private func failures(_ change: (inout DemoStory) -> Void) throws -> Int {
        var story = try Self.story()
        change(&story)
        return story.claims.count { !$0.holds }
    }

    @Test("The demo succeeds if all of it held")
    func success() throws {
        #expect(try failures { _ in } == 0)
        #expect(
            try Self.story().table == [
                "Track                             Bytes  How                                SHA-256",
                "Song 0                              100  in one go                          ok",
                "Song 1                              100  resumed at 42 by process 4711      ok",
                "Song 2                              100  in one go                          ok",
                "Song 3                                -  cancelled at 0                     -",
                "Song 4                              100  without its program, killed at 30  ok",
            ]
        )
    }

    @Test("The demo sees each thing that went wrong")
    func failure() throws {
        #expect(try failures { $0.isFirstSearchCancelled = false } == 1)
        #expect(try failures { $0.found = 3 } == 1)
        #expect(try failures { $0.ranAtOnce = 3 } == 1)
        #expect(try failures { $0.pausedAt = nil } == 1)
        #expect(try failures { $0.pausedAt = 43 } == 1, "it went on before where it stopped")
        #expect(try failures { $0.childStatus = 1 } == 1)
        #expect(try failures { $0.childStatus = nil } == 1)
        #expect(try failures { $0.childResumedAt = nil } == 2)
        #expect(try failures { $0.rangeRequests = [] } == 1)
        #expect(try failures { $0.rangeRequests[0].range = "bytes=0-" } == 1)
        #expect(try failures { $0.rangeRequests[0].hasCondition = false } == 1)
        #expect(try failures { $0.rangeRequests[0].bytesSent = 100 } == 1, "the server sent it all")
        #expect(try failures { $0.chapters[0].digest = "other" } == 1)
        #expect(try failures { $0.chapters[1].digest = nil } == 1)
        #expect(try failures { $0.chapters[3].bytes = 100 } == 1, "what was cancelled is there")
        #expect(try failures { $0.kill = nil } == 2)
        #expect(try failures { $0.kill?.wasKilled = false } == 1)
        #expect(try failures { $0.kill?.isAgentGone = false } == 1)
        #expect(try failures { $0.kill?.positions = [:] } == 1)
        #expect(try failures { $0.kill?.positions["4"] = 100 } == 1, "it was complete already")
        #expect(try failures { $0.kill?.sent["4"] = 99 } == 1, "it was not complete without its program")
        #expect(try failures { $0.kill?.requestsAtEnd = 2 } == 1, "the next program downloaded it again")
        #expect(try failures { $0.kill?.delivered = [] } == 1)
        #expect(try failures { $0.kill?.nextStatus = 1 } == 1)
        #expect(try failures { $0.chapters[4].digest = "other" } == 1)
        #expect(try failures { $0.upload = nil } == 1)
        #expect(try failures { $0.upload?.receipt = nil } == 1)
        #expect(try failures { $0.upload?.requests = [.init(method: "POST")] } == 1, "its connection didn't break")
        #expect(try failures { $0.upload?.requests[2].offset = "0" } == 1, "it began anew")
        #expect(try failures { $0.upload?.length = 101 } == 1, "the catalogue has less")
        #expect(try failures { $0.chapters[0].digest = nil } == 1)
        #expect(try failures { $0.leftovers = [".halftunes"] } == 1)
        #expect(try failures { $0.interruption = "it took less than 60 s" } == 1)
        #expect(try failures { $0 = DemoStory() } == 9)
    }
}
