import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("A process that forks", .timeLimit(.minutes(1)))
struct ForkTests {
    private static func lines(_ moment: String, _ server: LoopbackServer) async throws -> [String] {
        let helper = try ChildProcess([Products.program("fork-helper"), moment, server.url("/").absoluteString])
        let lines = await helper.remainingLines()
        #expect(await helper.ending() == .exit(0))
        return lines
    }

    @Test("After a fork before the first session, child and parent load on loops and connections of their own")
    func first() async throws {
        let server = try LoopbackServer { request in .text("\(request.connection)") }
        defer { server.stop() }
        #expect(try await Self.lines("first", server) == ["child 1", "ending 0", "parent 2"])
    }

    @Test("A child forked after the first session ends at once and in order, and the parent's connection survives")
    func later() async throws {
        let server = try LoopbackServer { request in .text("\(request.connection)") }
        defer { server.stop() }
        for _ in 0..<5 {
            let lines = try await Self.lines("later", server)
            #expect(lines.count == 3 && lines[1] == "ending 0")
            #expect(lines.first == lines.last)
        }
    }
}
