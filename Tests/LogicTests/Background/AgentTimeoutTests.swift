import Foundation
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("Agents that don't get ready, or don't answer", .timeLimit(.minutes(1)))
struct AgentTimeoutTests {
    @Test("A program that doesn't get ready as an agent is killed, and that is the error")
    func start() throws {
        let directory = try TemporaryDirectory()
        let agent = try directory.script("agent", "exec sleep 1000")
        var options = CurlOptions.Background()
        options.agent = agent
        var launcher = AgentLauncher(folder: StateFolder(directory.url), options: options)
        launcher.startTimeout = .milliseconds(50)
        let error = #expect(throws: URLError.self) { try launcher.start() }
        #expect(error?.code == .backgroundSessionWasDisconnected)
        #expect(error?.localizedDescription.contains("doesn't get ready") == true)
    }

    @Test("A program that ends in time has its own status")
    func ends() throws {
        let pid = try Spawn.run(["/bin/sh", "-c", "exit 7"])
        #expect(Spawn.ends(pid, within: .seconds(50)))
        #expect(Spawn.wait(for: pid) == 7)
    }

    @Test("An agent that says nothing when it is greeted is given up")
    func greeting() async throws {
        let queue = DispatchQueue(label: "client")
        var ends: [Int32] = [-1, -1]
        #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        defer { close(ends[1]) }
        let channel = try BackgroundClient.Channel(ends[0], on: queue) { _ in
        } ended: { _ in
        }
        defer { queue.sync { channel.close() } }
        await withCheckedContinuation { continuation in
            queue.sync {
                let greeting = AgentGreeting(channel, timeout: .milliseconds(20))
                greeting.watch(on: queue) {
                    withExtendedLifetime(greeting) { continuation.resume() }
                }
            }
        }
    }
}
