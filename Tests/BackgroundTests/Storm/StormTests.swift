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
        var storm = Storm(rig, try await begin(rig))
        for _ in 0..<Self.kills { try await storm.round() }
        calm.open()
        let names = (1...Self.downloads).map { "d\($0)" } + (1...Self.uploads).map { "u\($0)" }
        await storm.waitForEnds(names.count)
        #expect(Set(storm.told) == Set(names.map { "completed \($0) ok" }))
        checkFiles(rig)
        let program = storm.program
        program.say("finish")
        _ = await program.ending()
        program.closeInput()
        rig.waitForAgentToEnd()
        #expect(rig.stateFiles == [])
    }

    /// Has a program begin all downloads and uploads, none of which may be lost from then on.
    private func begin(_ rig: BackgroundRig) async throws -> ChildProcess {
        let program = try rig.program()
        try await program.line(beginningWith: "ready")
        for number in 1...Self.downloads { program.say("download \(rig.url("/\(number)")) d\(number)") }
        for number in 1...Self.uploads {
            let file = try rig.directory.file("u\(number)", length: Self.length, seed: UInt64(100 + number))
            program.say("upload \(rig.url("/")) \(file.path)")
        }
        let count = Self.downloads + Self.uploads
        try await rig.waitForLog { $0.components(separatedBy: ": task ").count > count }
        return program
    }

    /// Whether all that was received and sent is as it should be.
    private func checkFiles(_ rig: BackgroundRig) {
        for number in 1...Self.downloads {
            #expect(rig.file("d\(number)") == GeneratedBody.bytes(seed: UInt64(number), length: Int(Self.length)))
        }
        let sent = rig.server.requests.filter { $0.method == "POST" }.map(\.body)
        let uploads = (1...Self.uploads).map { GeneratedBody.bytes(seed: UInt64(100 + $0), length: Int(Self.length)) }
        for upload in uploads { #expect(sent.contains(upload)) }
        // A kill cuts a body off, and changes nothing of it.
        for body in sent { #expect(uploads.contains { $0.prefix(body.count) == body }) }
    }
}

/// What happens to programs, agents and connections, in random order.
private struct Storm {
    private let rig: BackgroundRig
    /// The one that runs now.
    private(set) var program: ChildProcess
    /// The ends that it and those before it were told.
    private(set) var told: [String] = []
    private var generator = SeededGenerator(seed: 14)

    init(_ rig: BackgroundRig, _ program: ChildProcess) {
        (self.rig, self.program) = (rig, program)
    }

    /// Kills the program or the agent, or resets the connections.
    mutating func round() async throws {
        switch Int.random(in: 0..<5, using: &generator) {
        case 0, 1:
            program.kill()
            told += await completions()
            program = try rig.program()
            told += await completions(until: "ready")
        case 2, 3:
            rig.killAgent()
        default:
            rig.server.resetConnections()
        }
    }

    /// Returns when so many ends were told; perhaps all were, to programs that were killed.
    mutating func waitForEnds(_ count: Int) async {
        while Set(told).count < count {
            guard let line = await program.line() else { break }
            if line.hasPrefix("completed") { told.append(line) }
        }
    }

    /// What the program says to its end or up to a line, each end at most once.
    private func completions(until end: String? = nil) async -> [String] {
        var lines: [String] = []
        while let line = await program.line() {
            if let end, line.hasPrefix(end) { break }
            if line.hasPrefix("completed") { lines.append(line) }
        }
        #expect(Set(lines).count == lines.count)
        return lines
    }
}
