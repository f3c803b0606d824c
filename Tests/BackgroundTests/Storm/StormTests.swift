import CurlNetworkingLoopbackServer
import Foundation
import TestSupport
import Testing

/// Programs, agents and connections are killed while downloads and uploads are under way. `make storm` kills 200 times.
@Suite("A storm of kills", .serialized, .timeLimit(.minutes(60)))
struct StormTests {
    private static let kills =
        ProcessInfo.processInfo.environment["CURLNETWORKING_STORM"].flatMap { Int($0) } ?? 8
    private static var downloads: Int { kills > 20 ? 20 : 5 }
    private static var uploads: Int { kills > 20 ? 5 : 2 }
    private static let length: Int64 = 400_000

    @Test("Every file arrives as it was sent, and every end is told")
    func storm() async throws {
        // Each body stops in the middle as long as the storm lasts.
        let calm = Gate()
        let rig = try BackgroundRig { request in
            if request.method == "POST" { return .text("\(request.bodyLength)").after([.waitFor(calm)]) }
            let seed = UInt64(request.path.dropFirst()) ?? 0
            let body = LoopbackServer.Body.generated(length: Self.length, seed: seed)
            let response = LoopbackServer.Response.resource(body, for: request, etag: "a")
            return calm.isOpen ? response : response.throttled(bytesPerSecond: 200_000)
        }
        defer {
            calm.open()
            rig.end()
        }
        var program = try rig.program()
        try await program.line(beginningWith: "ready")
        for number in 1...Self.downloads { program.say("download \(rig.url("/\(number)")) d\(number)") }
        for number in 1...Self.uploads {
            let file = try rig.directory.file("u\(number)", length: Self.length, seed: UInt64(100 + number))
            program.say("upload \(rig.url("/")) \(file.path)")
        }
        let count = Self.downloads + Self.uploads
        // From here on, nothing may be lost.
        try await rig.waitForLog { $0.components(separatedBy: ": task ").count > count }
        var told: [String] = []
        var generator = SeededGenerator(seed: 14)
        for _ in 0..<Self.kills {
            switch Int.random(in: 0..<5, using: &generator) {
            case 0, 1:
                program.kill()
                told += await completions(of: program)
                program = try rig.program()
                told += try await completions(of: program, until: "ready")
            case 2, 3:
                rig.killAgent()
            default:
                rig.server.resetConnections()
            }
        }
        calm.open()
        // Perhaps all was told to programs that were killed.
        while Set(told).count < count {
            guard let line = await program.line() else { break }
            if line.hasPrefix("completed") { told.append(line) }
        }
        let names = (1...Self.downloads).map { "d\($0)" } + (1...Self.uploads).map { "u\($0)" }
        #expect(Set(told) == Set(names.map { "completed \($0) ok" }))
        for number in 1...Self.downloads {
            #expect(rig.file("d\(number)") == GeneratedBody.bytes(seed: UInt64(number), length: Int(Self.length)))
        }
        let sent = rig.server.requests.filter { $0.method == "POST" }.map(\.body)
        let uploads = (1...Self.uploads).map { GeneratedBody.bytes(seed: UInt64(100 + $0), length: Int(Self.length)) }
        for upload in uploads { #expect(sent.contains(upload)) }
        // A kill cuts a body off, and changes nothing of it.
        for body in sent { #expect(uploads.contains { $0.prefix(body.count) == body }) }
        program.say("finish")
        _ = await program.ending()
        program.closeInput()
        rig.waitForAgentToEnd()
        #expect(rig.stateFiles == [])
    }

    /// What a program told to its end, each end at most once.
    private func completions(of program: ChildProcess) async -> [String] {
        let lines = await program.remainingLines().filter { $0.hasPrefix("completed") }
        #expect(Set(lines).count == lines.count)
        return lines
    }

    private func completions(of program: ChildProcess, until end: String) async throws -> [String] {
        var lines: [String] = []
        while let line = await program.line(), !line.hasPrefix(end) {
            if line.hasPrefix("completed") { lines.append(line) }
        }
        #expect(Set(lines).count == lines.count)
        return lines
    }
}
