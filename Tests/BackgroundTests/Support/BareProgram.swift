import Foundation
import TestSupport

@testable import CurlNetworking

/// A program that says to the rig's agent what the test has it say, and nothing else.
final class BareProgram: Sendable {
    /// What the agent has said.
    let heard = Watched<[AgentMessage]>([])
    private let queue = DispatchQueue(label: "BareProgram")
    private let channel: BackgroundClient.Channel

    /// Connects to the agent, which is listening.
    init(_ rig: BackgroundRig) throws {
        let descriptor = try UnixSocket.connect(StateFolder.socketName, in: StateFolder(rig.folder).url)
        let heard = heard
        channel = try queue.sync { [queue] in
            try BackgroundClient.Channel(descriptor, on: queue) { messages in
                heard.update { $0 += messages }
            } ended: { _ in
            }
        }
    }

    func say(_ messages: ClientMessage...) {
        queue.sync { for message in messages { channel.send(message) } }
    }

    func close() {
        queue.sync { channel.close() }
    }
}

extension BackgroundRig {
    /// Starts an agent, which stays for a minute without programs.
    func startAgent() async throws {
        let launcher = AgentLauncher(folder: StateFolder(folder), options: configuration().curl.background)
        _ = try await AgentInquiry.ask(.status, launcher)
    }

    /// What a program says first, for the session that most tests need.
    var hello: ClientMessage {
        .hello(Hello(identifier: identifier, settings: SessionDescription(configuration(), delegate: nil)))
    }
}
