import Foundation
import Glibc
import CurlNetworkingLocks

/// A file being played by a player in its own process group: Ctrl-C and Ctrl-Z in the terminal are ours to handle.
final class Playback: Sendable {
    enum Ending: Equatable, Sendable {
        case finished
        /// Because `stop` was called.
        case stopped
        case failed(status: Int32)
        case killed(signal: Int32)
    }

    private enum State {
        case playing, stopping, over
    }

    private let pid: pid_t
    private let state = Mutex(State.playing)

    /// - Parameters:
    ///   - isQuiet: Whether the player's output is discarded. Otherwise it goes where ours goes.
    ///   - whenOver: Called once, on its own thread.
    /// - Throws: `PlayerError` if there is no such file, `SystemCallError` if the player can't be started.
    init(
        _ file: URL,
        with player: Player,
        isQuiet: Bool,
        whenOver: @escaping @Sendable (Ending) -> Void
    ) throws {
        try Self.check(file)
        // The path is absolute, so that the player can't take it for an option.
        pid = try Self.spawn(player.words + [file.absoluteURL.path], isQuiet: isQuiet)
        let thread = Thread { [self] in whenOver(waitForEnd()) }
        thread.stackSize = 256 * 1024
        thread.start()
    }

    /// Throws if there is no such file.
    static func check(_ file: URL) throws(PlayerError) {
        var status = stat()
        guard stat(file.path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { throw .noFile(file.path) }
    }

    /// Asks the player to end; the second call kills it. Does nothing once it has ended.
    func stop() {
        state.withLock { state in
            switch state {
            case .playing: kill(-pid, SIGTERM)
            case .stopping: kill(-pid, SIGKILL)
            case .over: return
            }
            state = .stopping
        }
    }

    /// On the waiting thread.
    private func waitForEnd() -> Ending {
        var information = siginfo_t()
        while waitid(P_PID, id_t(pid), &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
        // Under the lock, so that no signal goes to a later process with the same number.
        return state.withLock { state in
            var status: Int32 = 0
            while waitpid(pid, &status, 0) < 0, errno == EINTR {}
            defer { state = .over }
            if case .stopping = state { return .stopped }
            if status & 0x7f != 0 { return .killed(signal: status & 0x7f) }
            let code = status >> 8 & 0xff
            return code == 0 ? .finished : .failed(status: code)
        }
    }

    /// The child gets the default action for each signal: otherwise the player would ignore those that this program ignores.
    private static func spawn(_ words: [String], isQuiet: Bool) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        if isQuiet {
            posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0)
            posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
        }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setpgroup(&attributes, 0)
        let flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP
        posix_spawnattr_setflags(&attributes, Int16(flags))

        let arguments = words.map { strdup($0) }
        defer { for argument in arguments { free(argument) } }
        var pid = pid_t()
        let code = posix_spawn(&pid, words[0], &actions, &attributes, arguments + [nil], environ)
        guard code == 0 else {
            errno = code
            throw SystemCallError(words[0])
        }
        return pid
    }
}
