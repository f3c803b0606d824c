import Foundation
import Glibc
import TestSupport
import Testing

@testable import CurlNetworkingHalfTunes

@Suite("Half Tunes plays files with whatever player there is", .timeLimit(.minutes(1)))
struct HalfTunesPlaybackTests {
    private let directory: TemporaryDirectory
    private let song: URL

    init() throws {
        directory = try TemporaryDirectory()
        song = try directory.file("a song.wav", Data())
    }

    private func player(script: String) throws -> Player {
        let file = try directory.script("player", script)
        return try Player(environment: ["HALFTUNES_PLAYER": file.path])
    }

    /// Stops it as soon as the player has said that it plays, if `stops`.
    private func ending(of script: String, stops: Int = 0) async throws -> Playback.Ending {
        let (endings, continuation) = AsyncStream<Playback.Ending>.makeStream()
        let player = try player(script: script)
        let playback = try Playback(song, with: player, isQuiet: true) { continuation.yield($0) }
        if stops > 0 { try await eventually { directory.content.contains("playing") } }
        for _ in 0..<stops { playback.stop() }
        for await ending in endings {
            playback.stop()
            return ending
        }
        throw CancellationError()
    }

    @Test("The player gets the whole path, and how it ends is told")
    func endings() async throws {
        let output = directory.url.appendingPathComponent("output")
        #expect(try await ending(of: "echo \"$#\" \"$1\" > '\(output.path)'") == .finished)
        #expect(try String(contentsOf: output, encoding: .utf8) == "1 \(song.path)\n")
        #expect(try await ending(of: "exit 3") == .failed(status: 3))
        #expect(try await ending(of: "kill -9 $$") == .killed(signal: SIGKILL))
    }

    @Test("A player can be stopped, with all that it has started, even if it ignores SIGTERM")
    func stopping() async throws {
        let flag = directory.url.appendingPathComponent("playing").path
        #expect(try await ending(of: "sleep 1000 & touch '\(flag)'; wait", stops: 1) == .stopped)
        try FileManager.default.removeItem(atPath: flag)
        #expect(try await ending(of: "trap '' TERM; touch '\(flag)'; while :; do sleep 1; done", stops: 2) == .stopped)
    }

    @Test("A file that isn't there isn't played")
    func missing() throws {
        let player = try player(script: "true")
        for name in ["none", "."] {
            let file = directory.url.appendingPathComponent(name)
            #expect(throws: PlayerError.self) { try Playback(file, with: player, isQuiet: true) { _ in } }
        }
    }
}
