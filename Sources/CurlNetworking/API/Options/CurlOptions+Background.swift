import Foundation

extension CurlOptions {
    /// Options for background sessions on Linux, where no system service performs their transfers. See <doc:BackgroundSessions>.
    public struct Background: Sendable, Hashable {
        /// The folder for the state of background transfers, on a local file system. It is created if necessary, and accessible only to the
        /// current user.
        ///
        /// nil selects `$XDG_STATE_HOME/curlnetworking/` (or `~/.local/state/curlnetworking/`) followed by
        /// ``URLSessionConfiguration/sharedContainerIdentifier`` or the program's name. Each folder has its own agent.
        public var folder: URL?

        /// The program that performs the transfers.
        ///
        /// nil selects the first of these: `$CURLNETWORKING_AGENT`; the program itself, if its `main` begins with
        /// ``CurlBackgroundAgent/runIfStartedAsAgent()``; `curlnetworking-agent` beside the program, in `../libexec` from there, or in
        /// `$PATH`.
        public var agent: URL?

        /// The command, with its arguments, to run when all of a session's transfers have ended and no program is attached to the session.
        /// Its environment is the agent's plus `CURLNETWORKING_BACKGROUND_SESSION`, the session's identifier; its working directory is the
        /// root. A name without a slash is looked up in `$PATH`.
        public var launchCommand: [String] = []

        /// The number of received bytes from which a download is resumed, not restarted, after the agent was killed. Less progress isn't
        /// recorded, nor is so small a download's result if the program takes it within a second.
        public var resumableSize: Int64 = 256 * 1024

        /// How long an agent keeps running without tasks or programs. It waits at least ten seconds for the program that started it.
        public var idleTime: Duration = .seconds(30)

        /// Creates the default options.
        public init() {}
    }
}

extension CurlOptions.Background {
    func validate() throws(CurlOptionsError) {
        if let folder, !folder.isFileURL {
            throw CurlOptionsError("background.folder", "\(folder.absoluteString) isn't the URL of a folder.")
        }
        if let agent, !agent.isFileURL {
            throw CurlOptionsError("background.agent", "\(agent.absoluteString) isn't the URL of a program.")
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
