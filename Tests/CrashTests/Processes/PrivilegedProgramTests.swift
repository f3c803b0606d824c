import CurlNetworkingLoopbackServer
import Foundation
import Glibc
import TestSupport
import Testing

@Suite("A program with more rights than its user", .enabled(if: geteuid() == 0), .timeLimit(.minutes(1)))
struct PrivilegedProgramTests {
    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
        chmod(directory.url.path, 0o777)
    }

    /// `test-helper` with the rights of this user, started by nobody, whose environment has `variables`. Foundation's own folders are in
    /// `directory`, instead of a home that nobody doesn't have.
    private func program(_ words: [String], _ variables: [String: String]) throws -> ChildProcess {
        let folders = ["XDG_CACHE_HOME", "XDG_DATA_HOME"].map { ($0, directory.url.path) }
        let variables = variables.merging(folders) { own, _ in own }
        let program = directory.url.appendingPathComponent("set-user-id").path
        try FileManager.default.copyItem(atPath: TestHelper.path(), toPath: program)
        chmod(program, 0o4755)
        let user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        return try ChildProcess(user + [program] + words, environment: variables)
    }

    @Test("A set-user-ID program takes neither proxy, temporary folder nor file for TLS keys from its user")
    func environment() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let keys = directory.url.appendingPathComponent("keys").path
        let variables = ["http_proxy": "http://127.0.0.1:1", "TMPDIR": directory.url.path, "SSLKEYLOGFILE": keys]
        let program = try program(["load", "file", server.url("/").absoluteString], variables)
        #expect(await program.line() == "ready")
        program.say("load")
        let line = try #require(await program.line())
        #expect(line.hasPrefix("file /tmp/") && !line.contains(directory.url.path))
        unlink(String(line.dropFirst("file ".count)))
        #expect(!FileManager.default.fileExists(atPath: keys))
    }
}
