import Foundation
import Testing

@testable import CurlNetworkingHalfTunes

@Suite("Half Tunes finds whatever player there is")
struct HalfTunesPlayerTests {
    private func player(_ environment: [String: String], _ programs: String...) throws(PlayerError) -> Player {
        try Player(environment: environment, isProgram: programs.contains)
    }

    @Test("The player is the first one that is there, in the order of the path's folders")
    func known() throws {
        let path = ["PATH": "/a:/b"]
        #expect(try player(path, "/b/aplay", "/b/mpv", "/a/ffplay").words.first == "/b/mpv")
        #expect(try player(path, "/b/aplay", "/b/paplay", "/a/ffplay", "/b/ffplay").words.first == "/a/ffplay")
        #expect(try player(path, "/a/aplay", "/b/paplay").words == ["/b/paplay"])
        #expect(try player(path, "/a/aplay").words == ["/a/aplay", "-q"])
        #expect(try player(["HALFTUNES_PLAYER": " ", "PATH": "/a"], "/a/aplay").name == "aplay")
    }

    @Test("A player that the environment names goes before others, with its options")
    func named() throws {
        func words(_ wish: String) throws -> [String] {
            let programs = ["/a/mpv", "/a/sox", "/opt/play"]
            return try Player(environment: ["PATH": "/a", "HALFTUNES_PLAYER": wish], isProgram: programs.contains).words
        }
        #expect(try words("sox -q") == ["/a/sox", "-q"])
        #expect(try words("/opt/play --loud") == ["/opt/play", "--loud"])
        #expect(throws: PlayerError.notThere("vlc")) { try words("vlc") }
        #expect(throws: PlayerError.notThere("./sox")) { try words("./sox") }
    }

    @Test("If there is no player, the message says what to do about it")
    func none() throws {
        let error = try #require(throws: PlayerError.self) { try Player(environment: [:], isProgram: { _ in false }) }
        #expect(error == .noneInstalled(["mpv", "ffplay", "paplay", "aplay"]))
        #expect(error.localizedDescription.contains("mpv, ffplay, paplay, aplay"))
        #expect(error.localizedDescription.contains("HALFTUNES_PLAYER"))
        #expect(PlayerError.notThere("vlc").localizedDescription.contains("'vlc'"))
    }
}
