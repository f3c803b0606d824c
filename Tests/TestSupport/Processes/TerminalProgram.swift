import Foundation
import Glibc
import CurlNetworkingLoopbackServer

/// A program on its own pseudo terminal, in its own session: it is used with the keyboard, and its screen is read.
package final class TerminalProgram: Sendable {
    package let pid: pid_t
    private let terminal: Int32
    /// Everything that it has written.
    private let output = Watched("")
    private let ended = Watched<ChildProcess.Ending?>(nil)

    package init(_ words: [String], environment: [String: String] = [:], columns: UInt16 = 160, rows: UInt16 = 24)
        throws
    {
        terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        var (lock, number): (Int32, UInt32) = (0, 0)
        // TIOCSPTLCK and TIOCGPTN, which is what unlockpt and ptsname do.
        guard terminal >= 0, ioctl(terminal, 0x4004_5431, &lock) == 0, ioctl(terminal, 0x8004_5430, &number) == 0 else {
            throw ChildProcess.Failure(description: "no pseudo terminal: \(String(cString: strerror(errno)))")
        }
        let name = "/dev/pts/\(number)"
        var size = winsize(ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
        _ = ioctl(terminal, UInt(TIOCSWINSZ), &size)

        do {
            let variables = ["TERM": "xterm"].merging(environment) { $1 }
            pid = try Spawn.start(words, environment: variables, inNewSession: true) { actions in
                posix_spawn_file_actions_addopen(&actions, 0, name, O_RDWR, 0)
                posix_spawn_file_actions_adddup2(&actions, 0, 1)
                posix_spawn_file_actions_adddup2(&actions, 0, 2)
            }
        } catch {
            close(terminal)
            throw error
        }
        let thread = Thread { [pid, terminal, output, ended] in Self.follow(pid, terminal, output, ended) }
        thread.stackSize = 256 * 1024
        thread.start()
    }

    deinit {
        if ended.value == nil { _ = Glibc.kill(pid, SIGKILL) }
    }

    package func type(_ text: String) {
        let bytes = Array(text.utf8)
        _ = write(terminal, bytes, bytes.count)
    }

    /// What it shows now: everything since it last began to draw a whole screen, without colours.
    package var screen: String { Self.screen(output.value) }

    /// Returns when the screen has all of `texts`, and no longer `gone`.
    package func shows(_ texts: String..., insteadOf gone: String? = nil) async throws {
        try await output.wait { output in
            let screen = Self.screen(output)
            return texts.allSatisfy(screen.contains) && gone.map(screen.contains) != true
        }
    }

    /// How it ended, once it has; it is killed when the test's time is up.
    package func ending() async throws -> ChildProcess.Ending? {
        try await ended.wait { $0 != nil }
        return ended.value
    }

    private static func screen(_ output: String) -> String {
        let start = output.range(of: "\u{1B}[H", options: .backwards)?.upperBound ?? output.startIndex
        return String(output[start...]).replacing(/\u{1B}\[[0-9;?]*[a-zA-Z]/, with: "")
    }

    private static func follow(
        _ pid: pid_t,
        _ terminal: Int32,
        _ output: Watched<String>,
        _ ended: Watched<ChildProcess.Ending?>
    ) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        var pending: [UInt8] = []
        while true {
            let count = read(terminal, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            // EIO: everything that had the other end open has closed it.
            guard count > 0 else { break }
            pending += buffer[..<count]
            // A character may come in two pieces.
            guard let text = String(validating: pending, as: UTF8.self) else { continue }
            pending = []
            output.update { $0 += text }
        }
        let end = Spawn.ending(of: pid)
        close(terminal)
        ended.update { $0 = end }
    }
}
