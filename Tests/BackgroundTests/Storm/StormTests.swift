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

    @Test("Every file arrives as it was sent, and an end is told again only if no agent had learnt that it was told")
    func storm() async throws {
        // As long as the storm lasts, downloads are slow, and the server answers one upload after the other: ends are told all the time.
        let calm = Gate()
        let answers = (1...Self.uploads).map { _ in Gate() }
        let rig = try BackgroundRig { request in
            let number = Int(request.path.drop { !$0.isNumber }) ?? 1
            if request.method == "POST" {
                return .text("\(request.bodyLength)").after([.waitFor(answers[number - 1])])
            }
            let body = LoopbackServer.Body.generated(length: Self.length, seed: UInt64(number))
            let response = LoopbackServer.Response.resource(body, for: request, etag: "a")
            return calm.isOpen ? response : response.throttled(bytesPerSecond: 200_000)
        }
        defer {
            for gate in answers + [calm] { gate.open() }
            rig.end()
        }
        var storm = try await begin(rig)
        let rounds = (1...Self.uploads).map { ($0 * Self.kills / (Self.uploads + 1), $0) }
        let turns = Dictionary(rounds, uniquingKeysWith: { first, _ in first })
        for round in 1...Self.kills {
            guard let number = turns[round] else {
                try await storm.strike()
                continue
            }
            answers[number - 1].open()
            try await storm.waitForEnd(of: "u\(number)")
            // Right after the delegate was told.
            if number.isMultiple(of: 2) { storm.killAgent() } else { try await storm.replaceProgram() }
        }
        for gate in answers + [calm] { gate.open() }
        let names = (1...Self.downloads).map { "d\($0)" } + (1...Self.uploads).map { "u\($0)" }
        let ends = try await storm.finish(names.count)
        #expect(ends == Set(names.map { StormProgram.End(task: $0, result: "ok") }))
        checkFiles(rig)
        rig.waitForAgentToEnd()
        #expect(rig.stateFiles == [])
    }

    /// Has a program begin all downloads and uploads, none of which may be lost from then on.
    private func begin(_ rig: BackgroundRig) async throws -> Storm {
        let program = StormProgram(try rig.program())
        for number in 1...Self.downloads { program.say("download \(rig.url("/\(number)")) d\(number)") }
        for number in 1...Self.uploads {
            let file = try rig.directory.file("u\(number)", length: Self.length, seed: UInt64(100 + number))
            program.say("upload \(rig.url("/u\(number)")) \(file.path)")
        }
        program.say("flush")
        try await program.wait { $0.isFlushed }
        return Storm(rig, program)
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

/// What happens to programs, agents and connections, in random order, and what the programs are told meanwhile.
private struct Storm {
    private let rig: BackgroundRig
    /// The one that runs now.
    private var program: StormProgram
    /// The tasks' numbers, by name.
    private let numbers: [String: Int]
    /// What the programs before it were told.
    private var told: Set<StormProgram.End> = []
    /// The tasks of whose ends they were told, and an agent had learnt that before the present program began: it must not be told again.
    private var acknowledged: Set<String> = []
    /// How many agents the program has lost. After the eighth it would give up; an upload's turn may take some, too.
    private var lostAgents = 0
    private static let maximumLosses = 5
    private var generator = SeededGenerator(seed: 14)

    /// - Parameter program: Has begun all tasks.
    init(_ rig: BackgroundRig, _ program: StormProgram) {
        (self.rig, self.program) = (rig, program)
        numbers = program.said.numbers
    }

    /// Kills the program or the agent, or resets the connections.
    mutating func strike() async throws {
        switch Int.random(in: 0..<5, using: &generator) {
        case 0:
            rig.server.resetConnections()
        case 1, 2:
            if lostAgents < Self.maximumLosses { killAgent() } else { try await replaceProgram() }
        case 3:
            try await replaceProgram()
        default:
            try await waitForAcknowledgements()
            try await replaceProgram()
        }
    }

    /// Returns once the program has been told of the task's end.
    func waitForEnd(of task: String) async throws {
        try await program.wait { $0.ends.contains { $0.task == task } }
    }

    /// Returns once an agent has learnt of all ends that the program has been told of so far.
    private func waitForAcknowledgements() async throws {
        let ended = program.said.ends.compactMap { numbers[$0.task] }
        try await rig.wait { [rig] in !ended.contains(where: rig.hasRecord) }
    }

    mutating func killAgent() {
        rig.killAgent()
        lostAgents += 1
    }

    /// Kills the program, and starts the next.
    mutating func replaceProgram() async throws {
        program.kill()
        await checkEnds()
        // The agent may still have an acknowledgement to read. If it is killed before that, the next program is told again.
        acknowledged = Set(told.map(\.task).filter { !rig.hasRecord(ofTask: numbers[$0] ?? 0) })
        program = StormProgram(try rig.program())
        lostAgents = 0
        try await program.wait { $0.isReady }
    }

    /// Has the program finish once all `count` ends have been told, and agents have learnt that; what they were. An agent that was killed
    /// may have been the only one to know, and a program that ends doesn't wait for the next.
    mutating func finish(_ count: Int) async throws -> Set<StormProgram.End> {
        try await program.wait { [told] in told.union($0.ends).count >= count }
        try await waitForAcknowledgements()
        program.say("finish")
        await checkEnds()
        return told
    }

    /// Waits for the program's own end, and looks at what it was told.
    private mutating func checkEnds() async {
        let ends = await program.lastWords().ends
        let tasks = Set(ends.map(\.task))
        #expect(tasks.count == ends.count, "A program was told twice")
        #expect(tasks.isDisjoint(with: acknowledged), "A program was told what an agent knew to have been told")
        told.formUnion(ends)
    }
}

/// A program, and what it has said so far.
private final class StormProgram: Sendable {
    /// A task's end, as its delegate was told.
    struct End: Hashable {
        let task: String
        /// `ok`, or an error's code.
        let result: String
    }

    struct Output {
        var isReady = false
        var isFlushed = false
        /// The numbers of the tasks that it has begun, by name.
        var numbers: [String: Int] = [:]
        var ends: [End] = []
        var isOver = false

        mutating func note(_ line: String) {
            let words = line.split(separator: " ").map(String.init)
            switch words.first {
            case "ready": isReady = true
            case "flushed": isFlushed = true
            case "resumed": numbers[words[1]] = Int(words[2])
            case "completed": ends.append(End(task: words[1], result: words[2]))
            default: break
            }
        }
    }

    private let process: ChildProcess
    private let output = Watched(Output())

    init(_ process: ChildProcess) {
        self.process = process
        Task { [output] in
            while let line = await process.line() { output.update { $0.note(line) } }
            output.update { $0.isOver = true }
        }
    }

    deinit {
        process.closeInput()
    }

    var said: Output { output.value }

    /// Throws if it ends before `condition` holds.
    func wait(until condition: @escaping @Sendable (Output) -> Bool) async throws {
        try await output.wait { $0.isOver || condition($0) }
        guard condition(said) else { throw UnexpectedEnd(expected: "more lines") }
    }

    func say(_ line: String) {
        process.say(line)
    }

    func kill() {
        process.kill()
    }

    /// All that it has said, once it has ended.
    func lastWords() async -> Output {
        _ = await process.ending()
        try? await output.wait { $0.isOver }
        return said
    }
}
