import Foundation
import Glibc
import TestSupport
import Testing

@testable import CurlNetworkingHalfTunes

@Suite("Half Tunes on a terminal", .timeLimit(.minutes(2)))
struct HalfTunesInteractiveTests {
    private let directory: TemporaryDirectory
    private let music: URL
    /// Says which file it plays, and plays it until it is stopped.
    private let player: URL
    private let played: URL

    init() throws {
        directory = try TemporaryDirectory()
        music = directory.url.appendingPathComponent("music")
        played = directory.url.appendingPathComponent("played")
        let script =
            "echo \"$$ $1\" > '\(played.path).new'\nmv '\(played.path).new' '\(played.path)'\nexec sleep 1000"
        player = try directory.script("player", script)
    }

    /// Returns when it takes keys: what is typed before is lost.
    private func start(player: String) async throws -> (TerminalProgram, BackgroundState) {
        let state = try BackgroundState()
        let halftunes = try TerminalProgram(
            [Products.program("halftunes"), "-o", music.path, "--rate", "100000000"],
            environment: state.environment.merging(["HALFTUNES_PLAYER": player, "LC_ALL": "C.UTF-8"]) { $1 }
        )
        try await halftunes.shows("enter search")
        return (halftunes, state)
    }

    /// The player's process and what it plays.
    private func playing() async throws -> (pid: pid_t, file: String) {
        while true {
            if let line = try? String(contentsOf: played, encoding: .utf8), let space = line.firstIndex(of: " ") {
                try FileManager.default.removeItem(at: played)
                return (
                    try #require(pid_t(line[..<space])), line[space...].trimmingCharacters(in: .whitespacesAndNewlines)
                )
            }
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    /// Returns when its agent has ended as well.
    private func quit(_ halftunes: TerminalProgram, _ state: BackgroundState) async throws {
        halftunes.type("q")
        #expect(try await halftunes.ending() == .exit(0))
        await state.remove()
    }

    @Test("A song is found, downloaded, played and stopped; the keys that apply are shown, others say so")
    func playingASong() async throws {
        let (halftunes, state) = try await start(player: player.path)
        halftunes.type("toccata\r")
        try await halftunes.shows("1 song matches", "/ search   d download   q quit")
        halftunes.type("p")
        try await halftunes.shows(
            "There is nothing to pause: Toccata in D minor – The Loopback Quartet is not downloaded."
        )
        halftunes.type("d")
        let file = music.appendingPathComponent("The Loopback Quartet - Toccata in D minor.wav").path
        try await halftunes.shows("Downloaded to \(file)", "done, SHA-256 ok", "/ search   enter play   q quit")

        halftunes.type("\r")
        try await halftunes.shows("Playing \(file) with player", "/ search   enter stop   q quit")
        let first = try await playing()
        #expect(first.file == file)
        halftunes.type("\r")
        try await halftunes.shows("/ search   enter play   q quit", file)
        #expect(kill(first.pid, 0) == -1, "the player has ended")

        halftunes.type("\r")
        let second = try await playing()
        try await quit(halftunes, state)
        try await eventually { kill(second.pid, 0) != 0 }
        #expect(directory.content.contains("music"))
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: music.path) == [
                URL(fileURLWithPath: file).lastPathComponent
            ]
        )
    }

    @Test("A song that is in the folder is shown as downloaded when a search finds it, and can be played")
    func alreadyThere() async throws {
        let song = try #require(Song.all.first { $0.title == "Toccata in D minor" })
        let preview = try #require(song.preview())
        try FileManager.default.createDirectory(at: music, withIntermediateDirectories: true)
        let file = music.appendingPathComponent("The Loopback Quartet - Toccata in D minor.wav")
        try preview.bytes(in: 0..<preview.length).write(to: file)

        let (halftunes, state) = try await start(player: player.path)
        halftunes.type("toccata\r")
        try await halftunes.shows("already there", "enter play")
        halftunes.type("\r")
        #expect(try await playing().file == file.path)
        try await halftunes.shows("enter stop")

        // Stopped, since the file is gone it can't be played again; but downloaded.
        try FileManager.default.removeItem(at: file)
        halftunes.type("\r")
        try await halftunes.shows("enter play")
        halftunes.type("\r")
        try await halftunes.shows("is gone; d downloads it again", "d download")
        halftunes.type("d")
        try await halftunes.shows("Downloaded to \(file.path)")
        try await quit(halftunes, state)
    }

    @Test("A file that is not the catalogue's isn't shown as downloaded, and stays until it is asked for")
    func anotherFile() async throws {
        try FileManager.default.createDirectory(at: music, withIntermediateDirectories: true)
        let file = music.appendingPathComponent("The Loopback Quartet - Toccata in D minor.wav")
        try Data("mine".utf8).write(to: file)
        let (halftunes, state) = try await start(player: player.path)
        halftunes.type("toccata\r")
        try await halftunes.shows("1 song matches", "d download")
        #expect(try Data(contentsOf: file) == Data("mine".utf8))
        try await quit(halftunes, state)
    }

    @Test("Without a player the message says what to do about it")
    func noPlayer() async throws {
        let (halftunes, state) = try await start(player: "/nowhere/player")
        halftunes.type("toccata\r")
        try await halftunes.shows("d download")
        halftunes.type("d")
        try await halftunes.shows("Downloaded to")
        halftunes.type("\r")
        try await halftunes.shows(
            "It can't be played: HALFTUNES_PLAYER names '/nowhere/player', and there is no such program."
        )
        try await quit(halftunes, state)
    }

    @Test("Half Tunes leaves the terminal to the shell while it is stopped, and has it again when it continues")
    func stopped() async throws {
        let state = try BackgroundState()
        let halftunes = try Products.program("halftunes")
        let shell = try TerminalProgram(
            [
                "/bin/bash", "--norc", "-mc",
                "'\(halftunes)' -o '\(music.path)'; stty -a; echo stopped; read; fg; stty -a; echo over",
            ],
            environment: state.environment.merging(["LC_ALL": "C.UTF-8"]) { $1 }
        )
        try await shell.shows("enter search")
        let children = try String(contentsOfFile: "/proc/\(shell.pid)/task/\(shell.pid)/children", encoding: .utf8)
        let child = try #require(children.split(separator: " ").first.flatMap { pid_t($0) })
        #expect(kill(child, SIGTSTP) == 0)
        try await shell.shows(" icanon", " echo ", "stopped")
        shell.type("\n")
        try await shell.shows("enter search", insteadOf: "stopped")
        shell.type("\u{3}")
        try await shell.shows(" icanon", " echo ", "over")
        #expect(try await shell.ending() == .exit(0))
        await state.remove()
    }

    @Test("halftunes play plays until the end, and tells how the player has failed")
    func command() async throws {
        func run(_ script: String?, _ file: String) async throws -> (
            lines: [String], ending: TestSupport.ChildProcess.Ending
        ) {
            let player = try script.map { try directory.script("other-player", $0).path } ?? "/nowhere/player"
            let words = [try Products.program("halftunes"), "play", file]
            let child = try TestSupport.ChildProcess(
                words,
                environment: ["HALFTUNES_PLAYER": player],
                mergesErrors: true
            )
            return (await child.remainingLines(), await child.ending())
        }
        let song = try directory.file("-song.wav", Data())
        let good = try await run("echo \"$1\"", song.path)
        #expect(good.lines == ["Playing \(song.path) with other-player. Ctrl-C stops it.", song.path])
        #expect(good.ending == .exit(0))
        let bad = try await run("exit 3", song.path)
        #expect(bad.lines.last == "halftunes: other-player has failed with status 3.")
        #expect(bad.ending == .exit(1))
        let idle = try await run(nil, song.path)
        #expect(idle.lines == ["halftunes: HALFTUNES_PLAYER names '/nowhere/player', and there is no such program"])
        #expect(idle.ending == .exit(1))
        for script in ["true", nil] {
            let missing = try await run(script, "/nowhere/song.wav")
            #expect(missing.lines == ["halftunes: there is no file /nowhere/song.wav"])
            #expect(missing.ending == .exit(1))
        }
    }
}
