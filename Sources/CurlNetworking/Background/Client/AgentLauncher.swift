import CurlNetworkingLocks
import CurlTransport
import Foundation
import Glibc

/// Finds the agent's program, and starts it.
struct AgentLauncher: Sendable {
    static let variable = "CURLNETWORKING_AGENT"
    static let programName = "curlnetworking-agent"

    /// The path of the running program, if that can be its own agent. A newer program may be there later.
    static let ownProgram = Mutex<String?>(nil)

    let folder: StateFolder
    let options: CurlOptions.Background
    /// How long an agent may take to start listening.
    var startTimeout = Duration.seconds(30)

    /// nil if there is none.
    var program: String? {
        let named = [Self.variable, "PATH"].map { ($0, SecureEnvironment[$0] ?? "") }
        let environment = Dictionary(uniqueKeysWithValues: named)
        return program(environment, running: Self.runningProgram, own: Self.ownProgram.withLock { $0 })
    }

    /// - Parameters:
    ///   - running: The path of the running program.
    ///   - own: The same, if that can be its own agent.
    func program(_ environment: [String: String], running: String?, own: String?) -> String? {
        if let agent = options.agent { return agent.path }
        if let named = environment[Self.variable], !named.isEmpty { return named }
        // Without its file, the program itself is still there.
        if let own { return access(own, F_OK) == 0 ? own : "/proc/self/exe" }
        var folders: [String] = []
        if let running {
            let beside = URL(fileURLWithPath: running).deletingLastPathComponent()
            folders = [beside.path, beside.deletingLastPathComponent().appendingPathComponent("libexec").path]
        }
        folders += (environment["PATH"] ?? "").split(separator: ":").map(String.init)
        return folders.map { $0 + "/" + Self.programName }.first { access($0, X_OK) == 0 }
    }

    /// The variables that name authorities, with paths that hold in the agent, whose directory is the root.
    static func authorities(_ variables: [String: String]) -> [String: String] {
        variables.mapValues { value in
            // OpenSSL takes several directories.
            let paths = value.split(separator: ":", omittingEmptySubsequences: false).map { path in
                path.isEmpty || path.hasPrefix("/") ? String(path) : URL(fileURLWithPath: String(path)).path
            }
            return paths.joined(separator: ":")
        }
    }

    static var runningProgram: String? {
        try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    }

    /// Starts an agent and waits until it, or another, is listening, or it has been killed. Blocks for at most `startTimeout`.
    func start() throws(URLError) {
        // Otherwise each such process would start another.
        guard !AgentProcess.isAsked() else {
            throw Self.failure(
                "This process was started as an agent, and its main doesn't begin with CurlBackgroundAgent.runIfStartedAsAgent()."
            )
        }
        guard let program else {
            throw Self.failure(
                "There is no agent. Install \(Self.programName), or begin main with CurlBackgroundAgent.runIfStartedAsAgent()."
            )
        }
        let pid: pid_t
        do throws(SystemError) {
            let arguments = AgentProcess.arguments(for: folder, idleTime: options.idleTime)
            pid = try Spawn.run([program] + arguments, environment: Self.authorities(TrustPlan.environment()))
        } catch {
            throw Self.failure("The agent \(program) can't be started: \(Spawn.reason(error)).", error)
        }
        let isReady = Spawn.ends(pid, within: startTimeout)
        if !isReady { kill(pid, SIGKILL) }
        let status = Spawn.wait(for: pid)
        guard isReady else { throw Self.failure("The agent \(program) doesn't get ready.") }
        switch status {
        // nil if the program itself reaps all of its children: the agent may be running.
        case AgentProcess.Status.listens, AgentProcess.Status.wasKilled, nil: return
        case AgentProcess.Status.cannotUseFolder:
            throw Self.refusal(of: folder)
        case let status?: throw Self.failure("The agent \(program) ended with status \(status).")
        }
    }

    /// Why an agent can't use the folder, which this process finds out by trying the same.
    private static func refusal(of folder: StateFolder) -> URLError {
        let text = "The agent can't use its folder, \(folder.url.path)"
        do throws(URLError) {
            try folder.prepare()
        } catch {
            return error
        }
        do throws(SystemError) {
            if let lock = try folder.takeLock() { close(lock) }
        } catch {
            return URLError(.cannotWriteToFile, url: nil, "\(text): \(error).", cause: error)
        }
        return failure("\(text).")
    }

    /// Why the program can't talk to the agent listening in the folder.
    static func noChannel(to folder: StateFolder, _ error: SystemError) -> URLError {
        if error.code == EPERM { return failure("The agent in \(folder.url.path) is another user's.") }
        return failure("The agent in \(folder.url.path) can't be spoken to: \(error).", error)
    }

    static func failure(_ text: String, _ error: SystemError? = nil) -> URLError {
        URLError(.backgroundSessionWasDisconnected, url: nil, text, cause: error)
    }
}
