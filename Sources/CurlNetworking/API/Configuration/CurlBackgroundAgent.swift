import CurlTransport
import Foundation

/// The process that performs the transfers of background sessions. See <doc:BackgroundSessions>.
public enum CurlBackgroundAgent {
    /// Lets the program act as its own agent, so that none needs to be installed. Call this first in `main`.
    ///
    /// If the program was started as an agent, this runs the agent and never returns; otherwise it returns at once. Code before it in
    /// `main` also runs in the agent.
    ///
    /// ```swift
    /// CurlBackgroundAgent.runIfStartedAsAgent()
    /// ```
    public static func runIfStartedAsAgent() {
        AgentProcess.runIfAsked()
        let program = AgentLauncher.runningProgram
        AgentLauncher.ownProgram.withLock { $0 = program }
    }

    /// Cancels all transfers of the background session that `configuration` describes, whichever program is attached to it, as when a user
    /// force-quits a program. They end with `URLError.cancelled`, and `URLError.backgroundTaskCancelledReason` gives the reason.
    ///
    /// Does nothing if no agent is running and there are no transfers. Throws `URLError` if the agent can't be reached.
    public static func cancelAllTasks(of configuration: URLSessionConfiguration) async throws {
        let folder = StateFolder(of: configuration)
        guard let identifier = configuration.identifier else { return }
        let last = Result { () throws(SystemError) in try folder.lastTaskIdentifier(of: identifier) }
        if case .success(nil) = last { return }
        let launcher = AgentLauncher(folder: folder, options: configuration.curl.background)
        _ = try await AgentInquiry.ask(.cancelAll(session: identifier), launcher)
    }
}
