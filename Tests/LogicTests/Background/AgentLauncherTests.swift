import CurlTransport
import Foundation
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("Where the agent's program is looked for")
struct AgentLauncherTests {
    private let directory: TemporaryDirectory
    private let running: String

    init() throws {
        directory = try TemporaryDirectory()
        running = directory.url.appendingPathComponent("bin/program").path
    }

    /// Makes an agent in a folder, and returns its path.
    private func install(in folder: String) throws -> String {
        let folder = directory.url.appendingPathComponent(folder, isDirectory: true)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let path = folder.appendingPathComponent("curlnetworking-agent").path
        #expect(FileManager.default.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o700]))
        return path
    }

    private func found(_ environment: [String: String], agent: URL? = nil, own: String? = nil) -> String? {
        var options = CurlOptions.Background()
        options.agent = agent
        let launcher = AgentLauncher(folder: StateFolder(directory.url), options: options)
        return launcher.program(environment, running: running, own: own)
    }

    @Test("The agent is the session's, $CURLNETWORKING_AGENT, or else beside the program, in ../libexec or in $PATH")
    func order() throws {
        var environment = ["PATH": "/nowhere:\(directory.url.path)/path"]
        #expect(found(environment) == nil)
        for folder in ["path", "libexec", "bin"] {
            let agent = try install(in: folder)
            #expect(found(environment) == agent)
        }
        environment["CURLNETWORKING_AGENT"] = "/opt/agent"
        #expect(found(environment) == "/opt/agent")
        #expect(found(environment, agent: URL(fileURLWithPath: "/opt/other")) == "/opt/other")
    }

    @Test("An empty $CURLNETWORKING_AGENT names nothing, and what can't be run is passed over")
    func unusable() throws {
        let agent = try install(in: "libexec")
        let other = try install(in: "bin")
        #expect(chmod(other, 0o600) == 0)
        #expect(found(["CURLNETWORKING_AGENT": ""]) == agent)
    }

    @Test("A program that is its own agent needs no file: without one, it runs itself again")
    func removed() throws {
        let own = try install(in: "bin")
        #expect(found([:], own: own) == own)
        try FileManager.default.removeItem(atPath: own)
        #expect(found([:], own: own) == "/proc/self/exe")
    }

    @Test("Where /dev/null is missing, the reason why no program can be started names it")
    func missingNull() {
        let error = SystemError(code: ENOENT)
        #expect(Spawn.reason(error, null: "/dev/null") == "\(error)")
        #expect(Spawn.reason(error, null: running) == "\(running): \(error)")
    }

    @Test("Files of authorities that the program sees from its directory are the agent's, too")
    func authorities() {
        let here = FileManager.default.currentDirectoryPath
        let variables = ["SSL_CERT_FILE": "ca.pem", "SSL_CERT_DIR": "/etc/certs:certs::"]
        let absolute = AgentLauncher.authorities(variables)
        #expect(absolute == ["SSL_CERT_FILE": "\(here)/ca.pem", "SSL_CERT_DIR": "/etc/certs:\(here)/certs::"])
    }
}
