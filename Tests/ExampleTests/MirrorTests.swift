import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("The example of a mirror", .timeLimit(.minutes(1)))
struct MirrorTests {
    private static let length: Int64 = 3_000_000
    private static let small = LoopbackServer.Body.text("small\n")

    /// A list and three files, the largest of which stops in the middle at first.
    private static func origin(_ gate: Gate, seed: @escaping @Sendable () -> UInt64 = { 1 }) throws -> LoopbackServer {
        let isFirst = Watched(true)
        return try LoopbackServer { request in
            switch request.path {
            case "/pool/list":
                let list = "small\r\n/pool/deep/er/small%20file\nlarge\n\n../../../etc/passwd\nlarge\n"
                return .text(list + "http://other.example/a\n")
            case "/pool/large":
                let body = LoopbackServer.Body.generated(length: length, seed: seed())
                let holds = isFirst.update { isFirst in
                    defer { isFirst = false }
                    return isFirst
                }
                if holds {
                    let steps: [LoopbackServer.Step] = [.body(body[0..<1_000_000]), .waitFor(gate)]
                    return .pieces(steps + [.body(body[1_000_000..<length])]).header("ETag", "\"\(seed())\"")
                }
                return .resource(body, for: request, etag: "\"\(seed())\"")
            case "/pool/small", "/pool/deep/er/small%20file": return .resource(small, for: request, etag: "s")
            default: return .status(404)
            }
        }
    }

    private func run(_ server: LoopbackServer, _ directory: TemporaryDirectory) async throws -> [String] {
        let mirror = try start(server, directory)
        let lines = await mirror.remainingLines()
        #expect(await mirror.ending() == .exit(1), "the missing file counts as a failure")
        return lines
    }

    private func start(_ server: LoopbackServer, _ directory: TemporaryDirectory) throws -> ChildProcess {
        try ExampleProgram.start("mirror", server.url("/pool/list").absoluteString, directory.url.path)
    }

    private func content(_ path: String, in directory: TemporaryDirectory) -> Data? {
        try? Data(contentsOf: directory.url.appendingPathComponent(path))
    }

    /// Ends it when the partial file has all that the server has sent so far.
    private func end(
        _ mirror: ChildProcess,
        by signal: Int32,
        in directory: TemporaryDirectory
    ) async throws -> ChildProcess.Ending {
        let partial = directory.url.appendingPathComponent(".mirror/partial/pool/large").path
        func length() -> Int? { try? FileManager.default.attributesOfItem(atPath: partial)[.size] as? Int }
        try await eventually { length() == 1_000_000 }
        mirror.kill(signal)
        return await mirror.ending()
    }

    @Test(
        "The mirror goes on where it was ended, and has byte for byte what the server has",
        arguments: [SIGKILL, SIGINT]
    )
    func kill(signal: Int32) async throws {
        let gate = Gate()
        defer { gate.open() }
        let server = try Self.origin(gate)
        defer { server.stop() }
        let directory = try TemporaryDirectory()
        let ending = try await end(start(server, directory), by: signal, in: directory)
        #expect(ending == (signal == SIGKILL ? .signal(SIGKILL) : .exit(130)))
        #expect(content("pool/large", in: directory) == nil)

        let lines = try await run(server, directory)
        #expect(lines.contains("resumed /pool/large at 1000000: 2000000 bytes"))
        #expect(content("pool/large", in: directory) == GeneratedBody.bytes(seed: 1, length: Int(Self.length)))
        #expect(content("pool/small", in: directory) == Data("small\n".utf8))
        #expect(content("pool/deep/er/small file", in: directory) == Data("small\n".utf8))
        let request = server.requests.last { $0.path == "/pool/large" }
        #expect(request?.header("Range") == "bytes=1000000-")
        #expect(request?.header("If-Range") == "\"1\"")
        #expect(directory.content == [".mirror", "pool"])
    }

    @Test("The mirror starts over when the file is another one by then")
    func changed() async throws {
        let gate = Gate()
        defer { gate.open() }
        let seed = Watched<UInt64>(1)
        let server = try Self.origin(gate) { seed.value }
        defer { server.stop() }
        let directory = try TemporaryDirectory()
        _ = try await end(start(server, directory), by: SIGKILL, in: directory)
        seed.update { $0 = 2 }
        let lines = try await run(server, directory)
        #expect(lines.contains("loaded /pool/large: 3000000 bytes"))
        #expect(content("pool/large", in: directory) == GeneratedBody.bytes(seed: 2, length: Int(Self.length)))
    }

    @Test("The mirror loads nothing again that hasn't changed")
    func unchanged() async throws {
        let gate = Gate()
        gate.open()
        let server = try Self.origin(gate)
        defer { server.stop() }
        let directory = try TemporaryDirectory()
        #expect(try await run(server, directory).contains("loaded /pool/large: 3000000 bytes"))
        let sent = server.bytesSent
        let lines = try await run(server, directory)
        #expect(
            lines.sorted() == [
                "failed /etc/passwd: status 404", "refused http://other.example/a: it isn't a file of the list's host",
                "unchanged /pool/deep/er/small file", "unchanged /pool/large", "unchanged /pool/small",
            ]
        )
        #expect(server.bytesSent - sent < 10_000)
    }
}
