import Foundation
import Glibc

/// Starts programs; following them is up to the caller. They begin with an empty signal mask and every signal at its default
/// action.
enum Spawn {
    /// Starts `words`, the first of which is looked up in `PATH`.
    ///
    /// - Parameters:
    ///   - environment: Added to this process's.
    ///   - inNewSession: Whether it leads its own session; the first terminal that it opens is then its controlling one.
    ///   - addActions: Says what happens to descriptors.
    static func start(
        _ words: [String],
        environment: [String: String] = [:],
        inNewSession: Bool = false,
        _ addActions: (inout posix_spawn_file_actions_t) -> Void = { _ in }
    ) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        addActions(&actions)

        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        let newSession: Int16 = inNewSession ? 0x80 : 0  // POSIX_SPAWN_SETSID
        posix_spawnattr_setflags(&attributes, newSession | Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

        let variables = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        var pid = pid_t()
        let code = withCStrings(words) { arguments in
            withCStrings(variables.map { "\($0)=\($1)" }) { variables in
                posix_spawnp(&pid, words[0], &actions, &attributes, arguments, variables)
            }
        }
        guard code == 0 else {
            throw ChildProcess.Failure(
                description: "\(words[0]) could not be started: \(String(cString: strerror(code)))"
            )
        }
        return pid
    }

    /// Waits for the process's end. Blocks.
    static func ending(of pid: pid_t) -> ChildProcess.Ending {
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        return status & 0x7f == 0 ? .exit(status >> 8 & 0xff) : .signal(status & 0x7f)
    }

    /// Runs a shell script to its end, with nothing to read and its output in the file `log`. Blocks.
    ///
    /// - Parameter words: The script's arguments.
    static func run(_ script: String, _ words: [String] = [], log: String = "/dev/null") throws -> ChildProcess.Ending {
        let pid = try start(["sh", "-c", script, "sh"] + words) { actions in
            posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
            posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
            posix_spawn_file_actions_adddup2(&actions, 1, 2)
        }
        return ending(of: pid)
    }

    private static func withCStrings<Result>(
        _ strings: [String],
        _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
    ) -> Result {
        let copies = strings.map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        return body(copies + [nil])
    }
}
