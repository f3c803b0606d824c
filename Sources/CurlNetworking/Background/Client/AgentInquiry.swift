import CurlTransport
import Foundation

/// A single question to an agent, without a session.
enum AgentInquiry {
    /// Starts an agent if none is listening.
    static func ask(_ message: ClientMessage, _ launcher: AgentLauncher) async throws -> AgentMessage {
        try await withCheckedThrowingContinuation { continuation in
            WorkThreads.blocking.run {
                continuation.resume(with: Result { () throws(URLError) in try askNow(message, launcher) })
            }
        }
    }

    /// Blocks.
    static func askNow(_ message: ClientMessage, _ launcher: AgentLauncher) throws(URLError) -> AgentMessage {
        if let answer = try askIfRunning(message, launcher.folder) { return answer }
        try launcher.start()
        guard let answer = try askIfRunning(message, launcher.folder) else {
            throw AgentLauncher.failure("The agent was started, and can't be reached.")
        }
        return answer
    }

    /// Returns nil if no agent is listening. Blocks for at most `timeout`: even a stopped agent lets clients connect.
    static func askIfRunning(
        _ message: ClientMessage,
        _ folder: StateFolder,
        timeout: Duration = .seconds(30)
    ) throws(URLError) -> AgentMessage? {
        let descriptor: Int32
        do throws(SystemError) {
            descriptor = try UnixSocket.connect(StateFolder.socketName, in: folder.url)
        } catch {
            if [ENOENT, ENOTDIR, ECONNREFUSED].contains(error.code) { return nil }
            throw AgentLauncher.failure("The agent can't be reached: \(error).", error)
        }
        let queue = DispatchQueue(label: "CurlNetworking.inquiry")
        let answered = DispatchSemaphore(value: 0)
        // Written on the queue, and read once the queue has closed the channel.
        nonisolated(unsafe) var answer: AgentMessage?
        let opened = queue.sync {
            Result { () throws(SystemError) in
                let channel = try BackgroundClient.Channel(descriptor, on: queue) { messages in
                    guard answer == nil else { return }
                    answer = messages.first
                    answered.signal()
                } ended: { _ in
                    answered.signal()
                }
                channel.send(message)
                return channel
            }
        }
        let channel = try opened.mapError { AgentLauncher.noChannel(to: folder, $0) }.get()
        _ = answered.wait(timeout: .after(timeout))
        queue.sync { channel.close() }
        guard let answer else { throw AgentLauncher.failure("The agent didn't answer.") }
        return answer
    }
}
