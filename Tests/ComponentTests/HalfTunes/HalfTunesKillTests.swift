import Foundation
import Glibc
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Half Tunes' get, killed", .timeLimit(.minutes(2)))
struct HalfTunesKillTests {
    private static let length: Int64 = 2_000_000
    private static let body = LoopbackServer.Body.generated(length: length, seed: 5)

    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func get(_ server: LoopbackServer) throws -> TestSupport.ChildProcess {
        try TestSupport.ChildProcess([
            Products.program("halftunes"), "get", server.url("/song.wav").absoluteString, "-o", directory.url.path,
        ])
    }

    private var partials: [String] {
        let folder = directory.url.appendingPathComponent(".halftunes")
        return (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    }

    /// How many bytes are in the one partial file.
    private var received: Int64 {
        let files = partials.filter { $0.hasPrefix("CurlNetworking") }
        guard files.count == 1 else { return 0 }
        var status = stat()
        let path = directory.url.appendingPathComponent(".halftunes/\(files[0])").path
        return stat(path, &status) == 0 ? Int64(status.st_size) : 0
    }

    @Test("halftunes get that was killed goes on from the very byte where it was, and leaves nothing but the file")
    func goingOn() async throws {
        let gates = [Gate(), Gate()]
        defer { for gate in gates { gate.open() } }
        let server = try LoopbackServer { request in
            guard request.ordinal == 1 else { return .resource(Self.body, for: request, etag: "\"1\"") }
            return .pieces([
                .body(Self.body[0..<300_000]), .waitFor(gates[0]), .body(Self.body[300_000..<1_234_567]),
                .waitFor(gates[1]), .body(Self.body[1_234_567..<Self.length]),
            ]).header("ETag", "\"1\"")
        }
        defer { server.stop() }
        let first = try get(server)
        // The note is written with the first bytes; what comes later needs no other.
        try await eventually { directory.content.contains("song.wav.resume") }
        gates[0].open()
        try await eventually { received == 1_234_567 }
        first.kill()
        #expect(await first.ending() == .signal(SIGKILL))

        let second = try get(server)
        let lines = await second.remainingLines()
        #expect(await second.ending() == .exit(0))
        #expect(lines.first == "song.wav: resumed at 1234567 of 2000000 bytes (61 %)")
        #expect(
            lines.last
                == "The file is \(directory.url.resolvingSymlinksInPath().appendingPathComponent("song.wav").path)"
        )
        #expect(server.requests.map { $0.header("Range") } == [nil, "bytes=1234567-"])
        #expect(server.requests.last?.header("If-Range") == "\"1\"")
        let file = try Data(contentsOf: directory.url.appendingPathComponent("song.wav"))
        #expect(file == GeneratedBody.bytes(seed: 5, length: Int(Self.length)))
        #expect(directory.content == ["song.wav"])
    }

    @Test("halftunes get that is killed again and again gets the same file, and leaves no orphan")
    func again() async throws {
        let gate = Gate()
        defer { gate.open() }
        // In bytes: how far a response gets before its program is killed. In twelve rounds that is less than the whole file.
        let limit = Watched<Int64?>(nil)
        let server = try LoopbackServer { request in
            let response = LoopbackServer.Response.resource(Self.body, for: request, etag: "\"1\"")
                .throttled(bytesPerSecond: 4_000_000)
            return limit.value.map { response.held(after: $0, until: gate) } ?? response
        }
        defer { server.stop() }
        for round in 0..<12 {
            let (requests, sent) = (server.requestCount, server.bytesSent)
            let position = Int64(round) * 17_000
            limit.update { $0 = position + 20_000 }
            let child = try get(server)
            // From before the request until far into the body, and after a note of how far it came.
            switch round % 4 {
            case 1: try await server.waitForRequests(requests + 1)
            case 2: try await server.waitForBytesSent(sent + position)
            case 3: try await eventually { directory.content.contains("song.wav.resume") }
            default: break
            }
            child.kill()
            #expect(await child.ending() == .signal(SIGKILL))
            // Two at most: what was gone on from, and what that was copied to.
            #expect(partials.count { $0.hasPrefix("CurlNetworking") } <= 2, "\(partials)")
        }
        limit.update { $0 = nil }
        let last = try get(server)
        _ = await last.remainingLines()
        #expect(await last.ending() == .exit(0))
        #expect(server.requests.contains { $0.header("Range") != nil })
        let file = try Data(contentsOf: directory.url.appendingPathComponent("song.wav"))
        #expect(file == GeneratedBody.bytes(seed: 5, length: Int(Self.length)))
        #expect(directory.content == ["song.wav"])
    }

    @Test("A later halftunes get removes files that no pause file names, and keeps those that one does")
    func orphans() async throws {
        let gate = Gate()
        defer { gate.open() }
        let server = try LoopbackServer { request in
            guard request.path == "/song.wav" else { return .text("other") }
            return .pieces([.body(Self.body[0..<300_000]), .waitFor(gate), .body(Self.body[300_000..<Self.length])])
                .header("ETag", "\"1\"")
        }
        defer { server.stop() }
        let first = try get(server)
        try await eventually { directory.content.contains("song.wav.resume") && received == 300_000 }
        first.kill()
        _ = await first.ending()
        _ = try directory.file(".halftunes/CurlNetworkingDownload_00.tmp", Data("orphan".utf8))

        let other = try TestSupport.ChildProcess([
            Products.program("halftunes"), "get", server.url("/other").absoluteString, "-o", directory.url.path,
        ])
        _ = await other.remainingLines()
        #expect(await other.ending() == .exit(0))
        #expect(directory.content == [".halftunes", "other", "song.wav.resume"])
        #expect(received == 300_000)
        #expect(partials.count == 1)
    }
}
