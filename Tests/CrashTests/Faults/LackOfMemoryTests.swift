import CurlNetworkingLoopbackServer
import Foundation
import TestSupport
import Testing

@Suite("When libcurl lacks memory amid its work, and again when it tries once more", .timeLimit(.minutes(2)))
struct LackOfMemoryTests {
    private static let first = 1_000_000
    private static let count = 6

    @Test(
        "When libcurl runs out of memory, all transfers fail once each, and the session goes on without a leak",
        .enabled(if: !ProcessUsage.isSanitized)
    )
    func all() async throws {
        let gates = Watched(Gate())
        let server = try LoopbackServer { request in
            let gate = gates.value
            return switch request.path {
            case "/waiting": .text("hello").after([.waitFor(gate)])
            case "/begun": .pieces([.bytes(Data("hel".utf8)), .waitFor(gate), .bytes(Data("lo".utf8))])
            default: .text("hello")
            }
        }
        defer { server.stop() }
        let directory = try TemporaryDirectory()
        let counter = try directory.file("counter", Data(count: 8))
        let fault = Fault(kind: "curl-work", program: .helper, isForGood: true)
        var environment = fault.environment(
            at: Self.first,
            counter: counter,
            report: directory.url.appendingPathComponent("report")
        )
        environment["LD_PRELOAD"] = try await FaultStage.shared.value.library.path
        let helper = try ChildProcess(
            [TestHelper.path(), "held", server.url("/").absoluteString, "\(Self.count)"],
            environment: environment
        )
        var before: ProcessUsage?
        for round in 1...60 {
            try await endAll(round, helper, server, gates, counter)
            server.dropIdleConnections()
            if round == 10 { before = await .atRest(of: helper.pid) }
        }
        let usual = try #require(before)
        let after = await ProcessUsage.settled(like: usual, of: helper.pid)
        #expect(after.descriptors.count <= usual.descriptors.count, "\(usual.kinds) → \(after.kinds)")
        #expect(after.resident < usual.resident + 3 << 20)
        helper.closeInput()
        #expect(await helper.ending() == .exit(3))
    }

    /// One round of the helper's.
    private func endAll(
        _ round: Int,
        _ helper: ChildProcess,
        _ server: LoopbackServer,
        _ gates: Watched<Gate>,
        _ counter: URL
    ) async throws {
        let gate = Gate()
        gates.update { $0 = gate }
        helper.say("go")
        for _ in 0..<Self.count { try #require(await helper.line() == "begun") }
        try #require(await helper.line() == "held")
        // Those of this round, and the last requests of the earlier ones.
        try await server.waitForRequests(2 * Self.count * round + round - 1)
        try Self.write(Self.first - 1, to: counter)
        gate.open()
        var ended: Set<String> = []
        for _ in 0..<2 * Self.count {
            let words = try #require(await helper.line()).split(separator: " ").map(String.init)
            try #require(words.count == 6, "\(words)")
            #expect(ended.insert(words[1]).inserted, "\(words[1]) ended twice")
            #expect(words[2...] == ["error", "\(URLError.unknown.rawValue)", "27", "\(ENOMEM)"])
            guard ended.count == 2 * Self.count - 1 else { continue }
            try Self.write(0, to: counter)
            helper.say("on")
        }
        #expect(await helper.line() == "over hello 0")
    }

    /// In one piece, as another process looks at it meanwhile.
    private static func write(_ number: Int, to counter: URL) throws {
        let file = try FileHandle(forUpdating: counter)
        try file.write(contentsOf: withUnsafeBytes(of: number) { Data($0) })
        try file.close()
    }
}
