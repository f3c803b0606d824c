import Foundation
import Glibc

/// A program that runs for one test. The end of its standard input tells it to end, which happens even if the test
/// process is killed. Its lines are read as they arrive.
///
/// It starts with an empty signal mask, every signal at its default action, and no descriptors except those given to
/// it.
package final class ChildProcess: Sendable {
    package enum Ending: Sendable, Equatable {
        case exit(Int32)
        case signal(Int32)
    }

    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    package let pid: pid_t
    private let input: Int32
    private let state = Watched(State())

    private struct State: Sendable {
        var lines: [String] = []
        var isOutputOver = false
        var isInputClosed = false
        var ending: Ending?
        var reader: CheckedContinuation<String?, Never>?
        var waiters: [CheckedContinuation<Ending, Never>] = []
    }

    /// Starts `words`, the first of which is looked up in `PATH`.
    ///
    /// - Parameters:
    ///   - descriptors: The child has them as 3, 4 and so on.
    ///   - environment: Added to this process's.
    ///   - mergesErrors: Whether its standard error is read like its output. If not, it is this process's own.
    package init(
        _ words: [String],
        descriptors: [Int32] = [],
        environment: [String: String] = [:],
        mergesErrors: Bool = false
    ) throws {
        let stdin = try Self.makePipe()
        let stdout = try Self.makePipe()
        // Out of the way of the numbers they get in the child.
        let kept = ([stdin.read, stdout.write] + descriptors).map { fcntl($0, F_DUPFD_CLOEXEC, 100) }
        defer { for descriptor in kept + [stdin.read, stdout.write] { close(descriptor) } }

        do {
            pid = try Spawn.start(words, environment: environment) { actions in
                posix_spawn_file_actions_adddup2(&actions, kept[0], 0)
                posix_spawn_file_actions_adddup2(&actions, kept[1], 1)
                if mergesErrors { posix_spawn_file_actions_adddup2(&actions, kept[1], 2) }
                for (index, descriptor) in kept.dropFirst(2).enumerated() {
                    posix_spawn_file_actions_adddup2(&actions, descriptor, Int32(3 + index))
                }
            }
        } catch {
            close(stdin.write)
            close(stdout.read)
            throw error
        }
        input = stdin.write
        let thread = Thread { [pid, state, output = stdout.read] in Self.follow(pid, output, state) }
        thread.stackSize = 256 * 1024
        thread.start()
    }

    deinit {
        closeInput()
    }

    // MARK: - Talking

    /// The next line of its output; nil after the last, and when the test's time is up. One reader at a time.
    package func line() async -> String? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let known = state.update { state -> String?? in
                    if !state.lines.isEmpty { return state.lines.removeFirst() }
                    if state.isOutputOver { return .some(nil) }
                    state.reader = continuation
                    return nil
                }
                if let known { continuation.resume(returning: known) }
            }
        } onCancel: {
            kill()
        }
    }

    /// The rest of its output.
    package func remainingLines() async -> [String] {
        var lines: [String] = []
        while let line = await line() { lines.append(line) }
        return lines
    }

    /// Sends it a line, which is lost if it has ended.
    package func say(_ line: String) {
        _ = Self.ignoresBrokenPipes
        state.update { state in
            guard !state.isInputClosed else { return }
            let bytes = Array((line + "\n").utf8)
            _ = write(input, bytes, bytes.count)
        }
    }

    private static let ignoresBrokenPipes: Void = { _ = signal(SIGPIPE, SIG_IGN) }()

    // MARK: - The end

    /// Ends its input, which makes a helper end.
    package func closeInput() {
        state.update { state in
            guard !state.isInputClosed else { return }
            state.isInputClosed = true
            close(input)
        }
    }

    /// Does nothing if it has ended.
    package func kill(_ signal: Int32 = SIGKILL) {
        state.update { state in
            if state.ending == nil { _ = Glibc.kill(pid, signal) }
        }
    }

    /// False from the moment it has ended.
    package var isRunning: Bool {
        state.update { state in
            var information = siginfo_t()
            return state.ending == nil && waitid(P_PID, id_t(pid), &information, WEXITED | WNOHANG | WNOWAIT) == 0
                && information.si_signo == 0
        }
    }

    /// How it ended, once it has; it is killed when the test's time is up.
    package func ending() async -> Ending {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let known = state.update { state in
                    if state.ending == nil { state.waiters.append(continuation) }
                    return state.ending
                }
                if let known { continuation.resume(returning: known) }
            }
        } onCancel: {
            kill()
        }
    }

    // MARK: - On its thread

    private static func follow(_ pid: pid_t, _ output: Int32, _ state: Watched<State>) {
        var rest: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(output, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            rest += buffer[..<count]
            while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                take(String(decoding: rest[..<end], as: UTF8.self), state)
                rest.removeSubrange(...end)
            }
        }
        close(output)
        if !rest.isEmpty { take(String(decoding: rest, as: UTF8.self), state) }
        let reader = state.update { state in
            state.isOutputOver = true
            return state.reader.take()
        }
        reader?.resume(returning: nil)

        var information = siginfo_t()
        while waitid(P_PID, id_t(pid), &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
        // Under the lock, so that no signal goes to a process that gets the same number next.
        let (ending, waiters) = state.update { state in
            let ending = Spawn.ending(of: pid)
            state.ending = ending
            defer { state.waiters = [] }
            return (ending, state.waiters)
        }
        for waiter in waiters { waiter.resume(returning: ending) }
    }

    private static func take(_ line: String, _ state: Watched<State>) {
        let reader = state.update { state in
            guard let reader = state.reader.take() else {
                state.lines.append(line)
                return nil as CheckedContinuation<String?, Never>?
            }
            return reader
        }
        reader?.resume(returning: line)
    }

    // MARK: - C

    private static func makePipe() throws -> (read: Int32, write: Int32) {
        var ends: [Int32] = [-1, -1]
        // A socket pair, because it can be made so that no other child that starts right now inherits it.
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw Failure(description: "no pipe: \(String(cString: strerror(errno)))")
        }
        return (ends[0], ends[1])
    }
}
