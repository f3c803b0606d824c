import TestSupport
import Testing

/// `make load` measures the same with very many of everything.
@Suite("Hundreds of everything", .timeLimit(.minutes(5)))
struct LoadTests {
    @Test("Connections, requests, sessions, cookies, stored responses and waiting tasks leave nothing behind")
    func nothing() async throws {
        let load = try ChildProcess([Products.program("load"), "--small"], mergesErrors: true)
        let lines = await load.remainingLines()
        let ending = await load.ending()
        #expect(ending == .exit(0), "\(lines.joined(separator: "\n"))")
        #expect(lines.contains { $0.contains("connections that were open at once") })
    }

    @Test("A measurement that doesn't exist is refused")
    func unknown() async throws {
        let load = try ChildProcess([Products.program("load"), "--small", "conections"], mergesErrors: true)
        #expect(await load.line()?.hasPrefix("There is no measurement conections, only requests, ") == true)
        #expect(await load.ending() == .exit(2))
    }
}
