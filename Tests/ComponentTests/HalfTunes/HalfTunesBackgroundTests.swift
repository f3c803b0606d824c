import CurlNetworkingLoopbackServer
import Foundation
import Glibc
import TestSupport
import Testing

@testable import CurlNetworkingHalfTunes

@Suite("Half Tunes' downloads go on without it", .timeLimit(.minutes(2)))
struct HalfTunesBackgroundTests {
    private static let length = 5_000_000
    /// What the server sends before the gate opens. The first line about progress needs all of it, so once that is there, so is this.
    private static let beginning = length / 10
    private static let content = GeneratedBody.bytes(seed: 8, length: length)

    private let directory: TemporaryDirectory
    private let state: BackgroundState
    private let server: LoopbackServer
    /// What keeps back all but the beginning.
    private let gate = Gate()

    init() throws {
        directory = try TemporaryDirectory()
        state = try BackgroundState()
        server = try LoopbackServer { [gate] request in
            let body = LoopbackServer.Body.generated(length: Int64(Self.length), seed: 8)
            return .resource(body, for: request, etag: "\"1\"").held(after: Int64(Self.beginning), until: gate)
        }
    }

    /// To be called at the end: nothing goes on.
    private func end() async {
        gate.open()
        server.stop()
        await state.remove()
    }

    private var music: URL { directory.url.resolvingSymlinksInPath().appendingPathComponent("my music") }
    private var file: Data? { try? Data(contentsOf: music.appendingPathComponent("song.wav")) }

    private func start(_ words: [String]) throws -> TestSupport.ChildProcess {
        try TestSupport.ChildProcess(
            [Products.program("halftunes")] + words + ["-o", music.path],
            environment: state.environment
        )
    }

    private func get(_ options: String...) throws -> TestSupport.ChildProcess {
        try start(["get", server.url("/song.wav").absoluteString] + options)
    }

    /// Returns when the beginning of the file is there.
    private func underWay(_ program: TestSupport.ChildProcess) async {
        while let line = await program.line() {
            if line.hasPrefix("song.wav: at ") { return }
        }
        Issue.record("it has ended")
    }

    @Test(
        "Half Tunes that was killed says the next time what has become of its background download",
        arguments: [SIGKILL, SIGINT]
    )
    func ended(by signal: Int32) async throws {
        let first = try get("--background")
        await underWay(first)
        first.kill(signal)
        let lines = await first.remainingLines()
        if signal == SIGINT {
            #expect(await first.ending() == .exit(128 + SIGINT))
            #expect(lines.last?.hasPrefix("1 download continues in the background.") == true)
            let folder = music.resolvingSymlinksInPath().path
            #expect(lines.last?.hasSuffix("To cancel: halftunes stop -o '\(folder)'") == true)
        }
        gate.open()
        // The agent has finished, and gone.
        await state.waitForAgentToEnd()
        #expect(server.bytesSent >= Int64(Self.length))
        #expect(file == nil)

        let second = try get("--background")
        #expect(await second.remainingLines().contains("song.wav: done, \(Self.length) bytes"))
        #expect(await second.ending() == .exit(0))
        #expect(file == Self.content)
        #expect(server.requestCount == 1)
        #expect(try FileManager.default.contentsOfDirectory(atPath: music.path) == ["song.wav"])
        await end()
    }

    @Test("Half Tunes that is started again amid a background download shows how far that is, and goes on with it")
    func again() async throws {
        let first = try get("--background")
        await underWay(first)
        first.kill()
        _ = await first.ending()
        let second = try get("--background")
        // The beginning is there; it isn't requested again.
        #expect(await second.line() == "song.wav: at \(Self.beginning) of \(Self.length) bytes (10 %)")
        gate.open()
        _ = await second.remainingLines()
        #expect(await second.ending() == .exit(0))
        #expect(file == Self.content)
        #expect(server.requestCount == 1)
        await end()
    }

    @Test("halftunes stop cancels background downloads, and leaves nothing behind")
    func stopping() async throws {
        let first = try get("--background")
        await underWay(first)
        first.kill()
        _ = await first.ending()
        let stop = try start(["stop"])
        #expect(await stop.remainingLines() == [])
        #expect(await stop.ending() == .exit(0))
        await state.waitForAgentToEnd()
        gate.open()
        #expect(file == nil)

        // Whenever it hears that the download was cancelled, it begins anew, because that's what is asked for.
        let second = try get("--background")
        let lines = await second.remainingLines()
        #expect(await second.ending() == .exit(0))
        #expect(lines.contains("song.wav: started"))
        #expect(file == Self.content)
        #expect(server.requestCount == 2)
        await end()
    }

    @Test("A background download that is stopped while a program watches it ends for that program, too")
    func stoppingAttached() async throws {
        let program = try get("--background")
        await underWay(program)
        let stop = try start(["stop"])
        #expect(await stop.ending() == .exit(0))
        #expect(await program.remainingLines().contains("song.wav: cancelled"))
        #expect(await program.ending() == .exit(1))
        #expect(try FileManager.default.contentsOfDirectory(atPath: music.path) == [])
        await end()
    }

    @Test("A download that was paused in the foreground goes on in the background from the same byte")
    func fromPauseFile() async throws {
        let first = try get()
        await underWay(first)
        first.kill(SIGINT)
        _ = await first.remainingLines()
        #expect(await first.ending() == .exit(128 + SIGINT))
        gate.open()
        let second = try get("--background")
        let lines = await second.remainingLines()
        #expect(await second.ending() == .exit(0))
        #expect(lines.contains { $0.hasPrefix("song.wav: resumed at \(Self.beginning) ") })
        #expect(server.requests.last?.header("Range") == "bytes=\(Self.beginning)-")
        #expect(file == Self.content)
        #expect(try FileManager.default.contentsOfDirectory(atPath: music.path) == ["song.wav"])
        await end()
    }

    @Test("A second program for the same folder says who downloads there")
    func inUse() async throws {
        let first = try get("--background")
        await underWay(first)
        let second = try get("--background")
        let lines = await second.remainingLines()
        #expect(await second.ending() == .exit(1))
        #expect(lines.contains { $0.hasPrefix("song.wav: failed: ") && $0.contains("process \(first.pid)") })
        gate.open()
        _ = await first.remainingLines()
        #expect(await first.ending() == .exit(0))
        #expect(file == Self.content)
        await end()
    }

    @Test("On a terminal, Half Tunes that was quit amid a download shows the download when it is started again")
    func interactive() async throws {
        // So slow that it doesn't come to an end.
        let catalogue = try CatalogueServer(rate: 100_000)
        let address = catalogue.url
        func start() async throws -> TerminalProgram {
            let program = try TerminalProgram(
                [Products.program("halftunes"), "-o", music.path, "--api", address.absoluteString],
                environment: state.environment.merging(["LC_ALL": "C.UTF-8"]) { $1 }
            )
            try await program.shows("enter search")
            return program
        }
        let first = try await start()
        first.type("toccata\r")
        try await first.shows("1 song matches")
        first.type("d")
        try await first.shows("p pause   c cancel", "B/s")
        first.type("q")
        try await first.shows("1 download continues in the background.")
        #expect(try await first.ending() == .exit(0))

        let second = try await start()
        // Without any search.
        try await second.shows("Toccata in D minor", "%")
        second.type("\u{1B}")
        try await second.shows("p pause   c cancel")
        catalogue.stop()
        let faster = try CatalogueServer(port: address.port ?? 0, rate: 100_000_000)
        defer { faster.stop() }
        try await second.shows("Downloaded to", "done, SHA-256 ok")
        second.type("q")
        #expect(try await second.ending() == .exit(0))
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: music.path) == [
                "The Loopback Quartet - Toccata in D minor.wav"
            ]
        )
        await end()
    }
}
