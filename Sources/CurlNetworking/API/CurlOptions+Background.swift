import Foundation

extension CurlOptions {
    /// What background sessions need to know on Linux, where no service of the system does their transfers. See <doc:BackgroundSessions>.
    public struct Background: Sendable, Hashable {
        /// The folder with the state of background transfers, on a local file system. It is made, and accessible to this user only.
        ///
        /// nil for `$XDG_STATE_HOME/curlnetworking/` (or `~/.local/state/curlnetworking/`) and
        /// ``URLSessionConfiguration/sharedContainerIdentifier`` or the program's name. There is one agent for each folder.
        public var folder: URL?

        /// The program that does the transfers.
        ///
        /// nil for the first of these: `$CURLNETWORKING_AGENT`; the program itself, where its `main` begins with
        /// ``CurlBackgroundAgent/runIfStartedAsAgent()``; `curlnetworking-agent` beside the program, in `../libexec` from there, or in
        /// `$PATH`.
        public var agent: URL?

        /// The command, and its arguments, that is run when all of a session's transfers have ended and no program is attached to the session.
        /// Its environment is the agent's and `CURLNETWORKING_BACKGROUND_SESSION`, the session's identifier. A name without a slash is
        /// looked for in `$PATH`.
        public var launchCommand: [String] = []

        /// From which size on, in bytes, a download that the agent was killed in is resumed and not begun anew. Smaller ones aren't
        /// worth the record; nor is their end, as long as the program takes it within a second.
        public var resumableSize: Int64 = 256 * 1024

        /// How long an agent without tasks and without programs stays. For the program that starts it, it waits ten seconds at least.
        public var idleTime: Duration = .seconds(30)

        /// The defaults.
        public init() {}
    }
}

extension CurlOptions.Background {
    func validate() throws(CurlOptionsError) {
        if let folder, !folder.isFileURL || folder.path.utf8.contains(0) {
            throw CurlOptionsError("background.folder", "\(folder.absoluteString) is no URL of a folder.")
        }
        if let agent, !agent.isFileURL || agent.path.utf8.contains(0) {
            throw CurlOptionsError("background.agent", "\(agent.absoluteString) is no URL of a program.")
        }
        if launchCommand.contains(where: { $0.utf8.contains(0) }) || launchCommand.first?.isEmpty == true {
            throw CurlOptionsError("background.launchCommand", "There is no such command.")
        }
        if resumableSize < 0 { throw CurlOptionsError("background.resumableSize", "It must not be negative.") }
        guard idleTime >= .zero, idleTime <= .seconds(365 * 24 * 60 * 60) else {
            throw CurlOptionsError("background.idleTime", "It must be between 0 and a year.")
        }
    }
}
