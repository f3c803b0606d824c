import CurlNetworking
import CurlNetworkingLoopbackServer
import Foundation
import Glibc
import TestSupport
import Testing

@testable import CurlNetworkingHalfTunes

@Suite("Half Tunes' upload", .timeLimit(.minutes(1)))
struct HalfTunesUploadTests {
    private static let content = GeneratedBody.bytes(seed: 3, length: 6_000_000)

    private let directory: TemporaryDirectory
    /// For the session's private files.
    private let temporary: TemporaryDirectory
    private let file: URL
    private let pauseFolder: URL

    init() throws {
        directory = try TemporaryDirectory()
        temporary = try TemporaryDirectory()
        file = directory.url.appendingPathComponent("song.wav")
        pauseFolder = directory.url.appendingPathComponent("song.wav.upload")
        try Self.content.write(to: file)
    }

    private func upload(_ file: URL? = nil, to server: URL) throws -> TestSupport.ChildProcess {
        try TestSupport.ChildProcess(
            [Products.program("halftunes"), "upload", (file ?? self.file).path, "--api", server.absoluteString],
            environment: ["TMPDIR": temporary.url.path]
        )
    }

    /// Reads the program's output as far as that line.
    private func line(_ text: String, of child: TestSupport.ChildProcess) async -> Bool {
        while let line = await child.line() {
            if line == "song.wav: \(text)" { return true }
        }
        return false
    }

    /// An upload to a catalogue that holds it amid the recording.
    private func heldUpload(until gate: Gate) async throws -> (CatalogueServer, TestSupport.ChildProcess) {
        let server = try CatalogueServer(recordings: Recordings(cuts: [.init(at: 2_000_000, after: gate)]))
        let child = try upload(to: server.url)
        try #require(await line("can be resumed", of: child))
        return (server, child)
    }

    private func recording(_ server: CatalogueServer, number: Int = 1) async throws -> Data {
        try await URLSession.shared.data(from: server.url.appendingPathComponent("recordings/\(number).wav")).0
    }

    @Test("An upload goes on from where the catalogue has it when the connection breaks, and is compared")
    func brokenConnection() async throws {
        let gate = Gate()
        defer { gate.open() }
        let (server, child) = try await heldUpload(until: gate)
        defer { server.stop() }
        gate.open()
        let lines = await child.remainingLines()
        #expect(await child.ending() == .exit(0))
        let rests = server.loopback.requests.filter { $0.method == "PATCH" }
        #expect(rests.first?.header("Upload-Offset") == "2000000")
        #expect(
            lines.suffix(2) == [
                "song.wav: done, 6000000 bytes, SHA-256 ok",
                "It is at \(server.url.absoluteString)/recordings/1.wav",
            ]
        )
        #expect(try await recording(server) == Self.content)
        #expect(directory.content == ["song.wav"])
    }

    @Test("A link to a recording uploads the recording")
    func link() async throws {
        let link = directory.url.appendingPathComponent("link.wav")
        try FileManager.default.createSymbolicLink(at: link, withDestinationURL: file)
        let server = try CatalogueServer(recordings: Recordings())
        defer { server.stop() }
        let child = try upload(link, to: server.url)
        _ = await child.remainingLines()
        #expect(await child.ending() == .exit(0))
        #expect(try await recording(server) == Self.content)
    }

    @Test("Ctrl-C pauses an upload to a private folder, and the same command goes on from there")
    func interruption() async throws {
        let gate = Gate()
        defer { gate.open() }
        let (server, first) = try await heldUpload(until: gate)
        defer { server.stop() }
        try await server.loopback.waitForBodyBytesReceived(2_000_000)
        first.kill(SIGINT)
        let lines = await first.remainingLines()
        #expect(await first.ending() == .exit(130))
        #expect(lines.last == "The same command resumes from there.")
        #expect(lines.contains { $0.hasPrefix("song.wav: paused at ") })
        var status = stat()
        #expect(stat(pauseFolder.path, &status) == 0 && status.st_mode == S_IFDIR | 0o700)

        let second = try upload(to: server.url)
        let others = await second.remainingLines()
        #expect(await second.ending() == .exit(0))
        #expect(others.contains("song.wav: resumed at 2000000 of 6000000 bytes (33 %)"))
        #expect(try await recording(server) == Self.content)
        #expect(directory.content == ["song.wav"])
    }

    @Test("A catalogue that can't be reached costs nothing of a paused upload, and one that has forgotten it gets all")
    func forgetfulCatalogue() async throws {
        let gate = Gate()
        defer { gate.open() }
        let (server, first) = try await heldUpload(until: gate)
        first.kill(SIGTERM)
        _ = await first.remainingLines()
        #expect(await first.ending() == .exit(128 + SIGTERM))
        server.stop()

        let second = try upload(to: server.url)
        _ = await second.remainingLines()
        #expect(await second.ending() == .exit(1))
        #expect(directory.content == ["song.wav", "song.wav.upload"])

        let other = try CatalogueServer(port: server.loopback.port)
        defer { other.stop() }
        let third = try upload(to: other.url)
        _ = await third.remainingLines()
        #expect(await third.ending() == .exit(0))
        #expect(try await recording(other) == Self.content)
        #expect(directory.content == ["song.wav"])
    }

    @Test("An upload that was paused for one catalogue doesn't keep another from getting all of it")
    func otherCatalogue() async throws {
        let gate = Gate()
        defer { gate.open() }
        let (server, first) = try await heldUpload(until: gate)
        defer { server.stop() }
        first.kill(SIGINT)
        _ = await first.remainingLines()
        #expect(await first.ending() == .exit(130))
        #expect(directory.content == ["song.wav", "song.wav.upload"])
        let before = server.loopback.requestCount

        let other = try CatalogueServer()
        defer { other.stop() }
        let second = try upload(to: other.url)
        let lines = await second.remainingLines()
        #expect(await second.ending() == .exit(0))
        #expect(lines.last == "It is at \(other.url.absoluteString)/recordings/1.wav")
        #expect(try await recording(other) == Self.content)
        #expect(server.loopback.requestCount == before)
        #expect(directory.content == ["song.wav"])
        #expect(temporary.content.isEmpty)
    }

    @Test("A paused upload stays if the catalogue is busy, and goes on later", arguments: [408, 429])
    func busyCatalogue(status: Int) async throws {
        let gate = Gate()
        defer { gate.open() }
        let (server, first) = try await heldUpload(until: gate)
        try await server.loopback.waitForBodyBytesReceived(2_000_000)
        first.kill(SIGINT)
        _ = await first.remainingLines()
        #expect(await first.ending() == .exit(130))
        server.stop()

        let busy = try LoopbackServer(port: server.loopback.port) { _ in .status(status) }
        let second = try upload(to: server.url)
        _ = await second.remainingLines()
        #expect(await second.ending() == .exit(1))
        #expect(directory.content == ["song.wav", "song.wav.upload"])
        busy.stop()

        let other = try CatalogueServer(port: server.loopback.port)
        defer { other.stop() }
        let third = try upload(to: other.url)
        _ = await third.remainingLines()
        #expect(await third.ending() == .exit(0))
        #expect(directory.content == ["song.wav"])
        #expect(temporary.content.isEmpty)
    }

    @Test("A catalogue that takes no uploads, and a file that isn't there, are told apart")
    func refusals() async throws {
        let server = try LoopbackServer { _ in .status(405) }
        defer { server.stop() }
        let child = try upload(to: server.url)
        let lines = await child.remainingLines()
        #expect(await child.ending() == .exit(1))
        #expect(lines.last == "song.wav: failed: the catalogue answered with status 405")
        #expect(directory.content == ["song.wav"])
        unlink(file.path)
        let missing = try upload(to: server.url)
        #expect(await missing.remainingLines() == [])
        #expect(await missing.ending() == .exit(1))
    }

    @Test("An answer that ends a resumed upload leaves nothing to resume from: the next one starts anew")
    func refusedForGood() async throws {
        let gate = Gate()
        defer { gate.open() }
        let (server, first) = try await heldUpload(until: gate)
        first.kill(SIGINT)
        _ = await first.remainingLines()
        #expect(await first.ending() == .exit(130))
        server.stop()

        let strict = try LoopbackServer(port: server.loopback.port) { request in
            request.method == "HEAD"
                ? .status(204).header("Upload-Offset", "0").header("Upload-Complete", "?0").header(
                    "Upload-Draft-Interop-Version",
                    "6"
                )
                : .status(400)
        }
        let second = try upload(to: server.url)
        #expect(await second.remainingLines().last == "song.wav: failed: the catalogue answered with status 400")
        #expect(await second.ending() == .exit(1))
        strict.stop()

        let other = try CatalogueServer(port: server.loopback.port)
        defer { other.stop() }
        let third = try upload(to: other.url)
        _ = await third.remainingLines()
        #expect(await third.ending() == .exit(0))
        #expect(try await recording(other) == Self.content)
        #expect(directory.content == ["song.wav"])
        #expect(temporary.content.isEmpty)
    }

    @Test("A file that isn't the upload's own stays in its folder")
    func foreignFile() async throws {
        let server = try CatalogueServer()
        defer { server.stop() }
        mkdir(pauseFolder.path, 0o700)
        try Data("mine".utf8).write(to: pauseFolder.appendingPathComponent("mine"))
        let child = try upload(to: server.url)
        _ = await child.remainingLines()
        #expect(await child.ending() == .exit(0))
        #expect(try FileManager.default.contentsOfDirectory(atPath: pauseFolder.path) == ["mine"])
    }

    @Test("An upload says that it can't be paused if something else has its folder's name, and leaves that alone")
    func foreignFolder() async throws {
        let gate = Gate()
        defer { gate.open() }
        let server = try CatalogueServer(recordings: Recordings(cuts: [.init(at: 2_000_000, after: gate)]))
        defer { server.stop() }
        let name = "CurlNetworkingUpload_\(String(repeating: "0", count: 32)).tmp"
        _ = try temporary.file(name, Data("mine".utf8))
        symlink(temporary.url.path, pauseFolder.path)
        let interrupted = try upload(to: server.url)
        #expect(await interrupted.line() == "song.wav: can't be paused: \(pauseFolder.path): Not a directory")
        try await server.loopback.waitForBodyBytesReceived(2_000_000)
        interrupted.kill(SIGINT)
        #expect(await interrupted.remainingLines().last == "song.wav: cancelled")
        #expect(await interrupted.ending() == .exit(130))
        gate.open()

        let complete = try upload(to: server.url)
        #expect(await complete.remainingLines().contains("song.wav: done, 6000000 bytes, SHA-256 ok"))
        #expect(await complete.ending() == .exit(0))
        #expect(temporary.content == [name])
        #expect(directory.content == ["song.wav", "song.wav.upload"])
    }

    @Test("The first of two uploads to end leaves the other what it needs to pause")
    func twoAtOnce() async throws {
        let gate = Gate()
        defer { gate.open() }
        let (server, first) = try await heldUpload(until: gate)
        defer { server.stop() }
        let other = try CatalogueServer()
        defer { other.stop() }
        let second = try upload(to: other.url)
        _ = await second.remainingLines()
        #expect(await second.ending() == .exit(0))
        try await server.loopback.waitForBodyBytesReceived(2_000_000)
        first.kill(SIGINT)
        #expect(await first.remainingLines().last == "The same command resumes from there.")
        #expect(await first.ending() == .exit(130))
        let third = try upload(to: server.url)
        _ = await third.remainingLines()
        #expect(await third.ending() == .exit(0))
        #expect(server.loopback.requests.contains { $0.method == "PATCH" })
        #expect(directory.content == ["song.wav"])
    }
}
