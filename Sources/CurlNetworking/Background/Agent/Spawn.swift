import CCurlNetworkingLinux
import CurlTransport
import Foundation
import Glibc

/// Starts processes, for the agent and for programs. A process that has threads is never forked: `posix_spawn` runs none of our code in
/// the child.
enum Spawn {
    private static let null = "/dev/null"

    /// Starts a program with only the standard descriptors, which are /dev/null. No signal is blocked in it, and each has its default
    /// action.
    ///
    /// - Parameters:
    ///   - words: The program, looked up in `$PATH` if it has no slash, and its arguments.
    ///   - program: The file to run, if it isn't the first of `words`.
    ///   - environment: Variables to add to this process's.
    ///   - descriptor: Passed to the child as descriptor 3.
    static func run(
        _ words: [String],
        named program: String? = nil,
        environment: [String: String] = [:],
        descriptor: Int32? = nil
    ) throws(SystemError) -> pid_t {
        guard let first = program ?? words.first else { throw SystemError(code: ENOENT) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        replaceDescriptors(in: &actions, passing: descriptor)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        resetSignals(in: &attributes)

        let variables = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        var pid = pid_t()
        let code = withCStrings(words) { arguments in
            withCStrings(variables.map { "\($0)=\($1)" }) { variables in
                posix_spawnp(&pid, first, &actions, &attributes, arguments, variables)
            }
        }
        guard code == 0 else { throw SystemError(code: code) }
        return pid
    }

    /// Why a program couldn't be started, as text: `error` doesn't say whether it is about the program or about /dev/null.
    static func reason(_ error: SystemError, null: String = null) -> String {
        access(null, R_OK | W_OK) == 0 ? "\(error)" : "\(null): \(error)"
    }

    private static func replaceDescriptors(
        in actions: inout posix_spawn_file_actions_t,
        passing descriptor: Int32?
    ) {
        posix_spawn_file_actions_addopen(&actions, 0, null, O_RDWR, 0)
        posix_spawn_file_actions_adddup2(&actions, 0, 1)
        posix_spawn_file_actions_adddup2(&actions, 0, 2)
        if let descriptor { posix_spawn_file_actions_adddup2(&actions, descriptor, 3) }
        // Not all code opens descriptors as close-on-exec: libcurl doesn't for its own sockets.
        posix_spawn_file_actions_addclosefrom_np(&actions, descriptor == nil ? 3 : 4)
    }

    private static func resetSignals(in attributes: inout posix_spawnattr_t) {
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
    }

    private static func withCStrings<Result>(
        _ strings: [String],
        _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
    ) -> Result {
        let copies = strings.map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        return body(copies + [nil])
    }

    /// Waits for a child to exit, and returns its exit status; nil if a signal killed it, or something else has already waited for it.
    static func wait(for pid: pid_t) -> Int32? {
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0 {
            guard errno == EINTR else { return nil }
        }
        return status & 0x7f == 0 ? status >> 8 & 0xff : nil
    }

    /// Whether a child ends, or can't be waited for, within `timeout`. Its status is left to `wait(for:)`. Polls less and less often, at
    /// last every 50 milliseconds.
    static func ends(_ pid: pid_t, within timeout: Duration) -> Bool {
        let end = MonotonicTime.now + timeout
        var pause: UInt32 = 1000
        while true {
            var information = siginfo_t()
            let result = waitid(P_PID, id_t(pid), &information, WEXITED | WNOHANG | WNOWAIT)
            if result == 0 ? information.si_signo != 0 : errno != EINTR { return true }
            guard MonotonicTime.now < end else { return false }
            usleep(pause)
            pause = min(2 * pause, 50_000)
        }
    }
}
