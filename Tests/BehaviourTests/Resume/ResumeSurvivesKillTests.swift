import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("A download whose process is killed", .timeLimit(.minutes(2)))
struct ResumeSurvivesKillTests {
    /// When the process gets its SIGKILL.
    enum Moment: Sendable, CustomStringConvertible {
        /// When the server has sent so many bytes.
        case sent(Int64)
        /// When the process has said so much: it says when it starts, continues, has written something, has paused.
        case lines(Int)

        init(_ number: Int) {
            self = number.isMultiple(of: 2) ? .sent(21_000 + Int64(number) * 1850) : .lines(number / 2 % 25)
        }

        var description: String {
            switch self {
            case .sent(let count): "\(count) bytes sent"
            case .lines(let count): "\(count) lines"
            }
        }
    }

    private struct Outcome: Sendable {
        let moment: Moment
        let isKilled: Bool
        let hasContinued: Bool
    }

    @Test("A download whose process is killed at any of 200 moments is resumed to the very same bytes")
    func kills() async throws {
        let outcomes = try await withThrowingTaskGroup(of: Outcome.self) { group in
            var outcomes: [Outcome] = []
            for number in 0..<200 {
                if number >= 6, let outcome = try await group.next() { outcomes.append(outcome) }
                group.addTask { try await Self.kill(at: Moment(number)) }
            }
            return try await group.reduce(into: outcomes) { $0.append($1) }
        }
        #expect(outcomes.count == 200)
        #expect(outcomes.count { $0.isKilled } > 100)
        let fresh = outcomes.filter { $0.isKilled && !$0.hasContinued }
        // Killed between producing newer resume data and storing it, a download has only the older data, whose partial file
        // is gone: it starts over, byte for byte the same.
        #expect(fresh.count < 100, "\(fresh.map(\.moment))")
    }

    /// Pauses a download here, has another process go on with it and pause again and again, kills that, and resumes here.
    private static func kill(at moment: Moment) async throws -> Outcome {
        let isOver = Watched(false)
        let origin = try ResumeOrigin(heldAt: 20_000) { request in
            let response = LoopbackServer.Response.resource(ResumeOrigin.body, for: request, etag: ResumeOrigin.etag)
            return isOver.value ? response : response.throttled(bytesPerSecond: 3_000_000)
        }
        defer { origin.server.stop() }
        let paused = try await PausedDownload(from: origin, offset: 20_000)
        let work = try TemporaryDirectory()
        let resumeData = try work.file("resume", paused.resumeData)
        let destination = work.url.appendingPathComponent("finished")
        let helper = try TestHelper.start(
            "download",
            resumeData.path,
            paused.directory.url.path,
            destination.path,
            "60000"
        )
        switch moment {
        case .sent(let count):
            try await origin.server.waitForBytesSent(count)
        case .lines(let count):
            for _ in 0..<count where await helper.line() == nil { break }
        }
        helper.kill()
        let isKilled = await helper.ending() == .signal(SIGKILL)
        isOver.update { $0 = true }
        if let finished = try? Data(contentsOf: destination) {
            #expect(finished == ResumeOrigin.bytes, "\(moment)")
        }
        let resumed = try await paused.resume(Data(contentsOf: resumeData))
        #expect(resumed.error == nil, "\(moment)")
        #expect(resumed.body == ResumeOrigin.bytes, "\(moment)")
        let isFinished = FileManager.default.fileExists(atPath: destination.path)
        return Outcome(moment: moment, isKilled: isKilled && !isFinished, hasContinued: resumed.hasContinued)
    }
}
