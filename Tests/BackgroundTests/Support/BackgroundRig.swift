import CurlNetworking
import CurlNetworkingLoopbackServer
import Foundation
import Glibc
import TestSupport
import Testing

/// All tests of background sessions, one after the other: each has processes of its own.
@Suite("Background sessions", .serialized, .timeLimit(.minutes(3)))
enum BackgroundTests {}

/// What tests of background sessions begin with: a folder for their state, a server, and a session of this process's with a delegate that
/// records.
///
///     let rig = try BackgroundRig { _ in .text("hello") }
///     defer { rig.end() }
///     try await rig.delegate.success(of: rig.download())
///     try await rig.finish()
final class BackgroundRig: Sendable {
    let directory: TemporaryDirectory
    let identifier = "test"
    let server: LoopbackServer
    let delegate = RecordingDelegate()
    private let configure: @Sendable (URLSessionConfiguration) -> Void
    private let ownSession = Watched<URLSession?>(nil)
    /// Kills the agent if the tests' process doesn't come to it.
    private let guardian: ChildProcess
    /// The agents that the test has killed.
    private let killed = Watched<Set<pid_t>>([])

    /// For tests whose server isn't asked for anything.
    convenience init() throws {
        try self.init { _ in .never }
    }

    /// - Parameters:
    ///   - configure: Changes the configuration of `session`.
    ///   - handler: What the server answers with.
    init(
        answering: LoopbackServer.Answering = .afterBody,
        configure: @escaping @Sendable (URLSessionConfiguration) -> Void = { _ in },
        handler: @escaping LoopbackServer.Handler
    ) throws {
        self.configure = configure
        server = try LoopbackServer(answering: answering, handler)
        directory = try TemporaryDirectory()
        let ownAgent = directory.url.appendingPathComponent("curlnetworking-agent")
        try FileManager.default.createSymbolicLink(at: ownAgent, withDestinationURL: Self.agent)
        let script = "cat >/dev/null; flock -n \"$0\" true || kill -9 $(cat \"$0\")"
        let lock = directory.url.appendingPathComponent("state/agent.lock").path
        guardian = try ChildProcess(["sh", "-c", script, lock], mergesErrors: true)
    }

    /// To be called when the test is over: nothing that it started goes on. A session that still wants to tell its agent something finds no
    /// place for another. Fails the test if an agent has crashed: the next one may have made up for that.
    func end() {
        expectNoCrash()
        ownSession.value?.invalidateAndCancel()
        server.stop()
        let over = directory.url.appendingPathComponent("over", isDirectory: true)
        if rename(folder.path, over.path) == 0 { try? Data().write(to: folder) }
        kill(agentWith: over.appendingPathComponent("agent.lock"))
        guardian.kill()
    }

    /// Each agent that has started is still there, was killed by the test, or has said why it ends.
    private func expectNoCrash() {
        // Asked before and after: one may end, or start, while the log is read.
        let before = agentPid
        let lines = log.split(separator: "\n")
        let running = Set([before, agentPid].compactMap(\.self))
        func agents(thatSaid text: String) -> Set<pid_t> {
            let said = lines.compactMap { $0.wholeMatch(of: /\S+ \[(\d+)\] (.*)/) }.filter { $0.2.hasPrefix(text) }
            return Set(said.compactMap { pid_t($0.1) })
        }
        let gone = agents(thatSaid: "started, ").subtracting(agents(thatSaid: "ends: ")).subtracting(killed.value)
        #expect(gone.isSubset(of: running), "an agent has crashed")
    }

    var folder: URL { directory.url.appendingPathComponent("state", isDirectory: true) }
    var sessions: URL { folder.appendingPathComponent("sessions", isDirectory: true) }
    private var lock: URL { folder.appendingPathComponent("agent.lock") }
    static let agent = Products.directory.appendingPathComponent("curlnetworking-agent")
    /// The same under a name that goes with the directory: a session that outlives its test starts no other.
    private var ownAgent: URL { directory.url.appendingPathComponent("curlnetworking-agent") }
    static let helper = Products.directory.appendingPathComponent("background-helper")

    // MARK: - Sessions

    /// The one that most tests need. It is made when it is first used: what programs have left by then is there.
    var session: URLSession {
        ownSession.update { own in
            let made = own ?? session(delegate, configure)
            own = made
            return made
        }
    }

    func url(_ path: String) -> URL { server.url(path) }

    /// A download in `session`, already resumed.
    func download(_ path: String = "/") -> URLSessionDownloadTask {
        let task = session.downloadTask(with: url(path))
        task.resume()
        return task
    }

    /// Waits for the tasks of `session`. Then nothing of them is left.
    func finish() async throws {
        session.finishTasksAndInvalidate()
        try await delegate.invalidation()
        try await wait { self.stateFiles == [] }
    }

    /// A session of this process.
    func session(
        _ delegate: (any URLSessionDelegate)?,
        _ configure: (URLSessionConfiguration) -> Void = { _ in }
    ) -> URLSession {
        URLSession(configuration: configuration(configure), delegate: delegate, delegateQueue: nil)
    }

    func configuration(_ configure: (URLSessionConfiguration) -> Void = { _ in }) -> URLSessionConfiguration {
        let configuration = URLSessionConfiguration.background(withIdentifier: identifier)
        configuration.httpCookieStorage = nil
        configuration.urlCredentialStorage = nil
        configuration.curl.temporaryDirectory = directory.url
        configuration.curl.background.folder = folder
        configuration.curl.background.agent = ownAgent
        configuration.curl.background.idleTime = .seconds(60)
        configuration.curl.background.resumableSize = 1
        configure(configuration)
        return configuration
    }

    /// A program with a session of the same name.
    ///
    /// - Parameters:
    ///   - holdsChallenges: Its delegate says what it is asked, and doesn't answer.
    ///   - shell: What a shell does before it becomes the program.
    ///   - user: Another user than this process's, whose folder it then is.
    func program(
        identifier: String = "test",
        launchCommand: String = "",
        holdsChallenges: Bool = false,
        after shell: String? = nil,
        user: uid_t? = nil
    ) throws -> ChildProcess {
        var words = [Self.helper.path, folder.path, identifier, directory.url.path]
        if let user {
            // The build may be where that user can't look.
            let copy = directory.url.appendingPathComponent("background-helper")
            if access(copy.path, F_OK) != 0 { try FileManager.default.copyItem(at: Self.helper, to: copy) }
            chown(directory.url.path, user, user)
            words[0] = copy.path
            words = ["setpriv", "--reuid=\(user)", "--regid=\(user)", "--clear-groups"] + words
        }
        if let shell { words = ["sh", "-c", "\(shell); exec \"$@\"", "sh"] + words }
        return try ChildProcess(
            words,
            environment: [
                "LAUNCH_COMMAND": launchCommand, "HOLD_CHALLENGES": holdsChallenges ? "1" : "",
                "TMPDIR": directory.url.path,
            ]
        )
    }

    /// The same, once it has its session.
    func readyProgram(
        identifier: String = "test",
        launchCommand: String = "",
        holdsChallenges: Bool = false,
        after shell: String? = nil,
        user: uid_t? = nil
    ) async throws -> ChildProcess {
        let program = try program(
            identifier: identifier,
            launchCommand: launchCommand,
            holdsChallenges: holdsChallenges,
            after: shell,
            user: user
        )
        try await program.line(beginningWith: "ready")
        return program
    }

    // MARK: - The agent

    /// The number of the process that holds the folder's lock; nil where none does.
    var agentPid: pid_t? { pid(of: lock) }

    private func pid(of lock: URL) -> pid_t? {
        let descriptor = open(lock.path, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) != 0 else { return nil }
        return (try? String(contentsOf: lock, encoding: .utf8)).flatMap {
            pid_t($0.trimmingCharacters(in: .whitespacesAndNewlines))
        }
    }

    /// Returns when it has ended.
    func killAgent() {
        kill(agentWith: lock)
    }

    private func kill(agentWith lock: URL) {
        guard let pid = pid(of: lock) else { return }
        killed.update { $0.insert(pid) }
        Glibc.kill(pid, SIGKILL)
        wait(for: lock)
    }

    /// Blocks until no agent works in the folder.
    func waitForAgentToEnd() {
        wait(for: lock)
    }

    private func wait(for lock: URL) {
        let descriptor = open(lock.path, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        _ = flock(descriptor, LOCK_EX)
        close(descriptor)
    }

    /// The files of all sessions, with the folders they are in.
    var stateFiles: [String] {
        (FileManager.default.enumerator(atPath: sessions.path)?.allObjects as? [String] ?? []).sorted()
    }

    var log: String {
        (try? String(contentsOf: folder.appendingPathComponent("agent.log"), encoding: .utf8)) ?? ""
    }

    func file(_ name: String) -> Data? {
        try? Data(contentsOf: directory.url.appendingPathComponent(name))
    }
}

extension ChildProcess {
    /// Reads on until a line begins with `prefix`; the line. Throws at the end of the output.
    @discardableResult
    func line(beginningWith prefix: String) async throws -> String {
        while let line = await line() {
            if line.hasPrefix(prefix) { return line }
        }
        throw UnexpectedEnd(expected: prefix)
    }

    /// Ends it as a crash would, and returns when it is gone.
    func crash() async {
        kill()
        _ = await ending()
    }
}

/// A program has ended without the line that was waited for.
struct UnexpectedEnd: Error {
    let expected: String
}
