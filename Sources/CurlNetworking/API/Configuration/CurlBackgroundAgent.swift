import CurlTransport
import Foundation

/// The process that does the transfers of background sessions. See <doc:BackgroundSessions>.
public enum CurlBackgroundAgent {
    /// Lets the program be its own agent, so that none has to be installed. Call it first in `main`.
    ///
    /// If the program was started as an agent, this does the agent's work and never returns; otherwise it returns at once. Code before it
    /// in `main` runs in the agent, too.
    ///
    /// ```swift
    /// CurlBackgroundAgent.runIfStartedAsAgent()
    /// ```
    public static func runIfStartedAsAgent() {
        AgentProcess.runIfAsked()
        let program = AgentLauncher.runningProgram
        AgentLauncher.ownProgram.withLock { $0 = program }
    }

    /// Cancels all transfers of the background session that `configuration` describes, whichever program is attached to it, like a user who
    /// force-quits a program: they end with `URLError.cancelled`, and `URLError.backgroundTaskCancelledReason` says why.
    ///
    /// Does nothing if no agent runs and there are no transfers. Throws `URLError` if the agent can't be reached.
    public static func cancelAllTasks(of configuration: URLSessionConfiguration) async throws {
        let folder = StateFolder(of: configuration)
        guard let identifier = configuration.identifier else { return }
        let last = Result { () throws(SystemError) in try folder.lastTaskIdentifier(of: identifier) }
        if case .success(nil) = last { return }
        let launcher = AgentLauncher(folder: folder, options: configuration.curl.background)
        _ = try await AgentInquiry.ask(.cancelAll(session: identifier), launcher)
    }
}
