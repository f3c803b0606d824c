import Foundation
import Glibc
import CurlNetworkingLoopbackServer

/// A program on a pseudo terminal of its own, in a session of its own: it is used with the keyboard, and its screen is read.
package final class TerminalProgram: Sendable {
    package struct Failure: Error {
        package let description: String
    }

    package let pid: pid_t
    private let terminal: Int32
    /// All that it has written.
    private let output = Watched("")
    private let status = Watched<Int32?>(nil)

    package init(_ words: [String], environment: [String: String] = [:], columns: UInt16 = 160, rows: UInt16 = 24)
        throws
    {
        terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        var (lock, number): (Int32, UInt32) = (0, 0)
        // TIOCSPTLCK and TIOCGPTN, which is what unlockpt and ptsname do.
        guard terminal >= 0, ioctl(terminal, 0x4004_5431, &lock) == 0, ioctl(terminal, 0x8004_5430, &number) == 0 else {
            throw Failure(description: "no pseudo terminal: \(String(cString: strerror(errno)))")
        }
        let name = "/dev/pts/\(number)"
        var size = winsize(ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
        _ = ioctl(terminal, UInt(TIOCSWINSZ), &size)

        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        // The first terminal that a new session opens is its controlling one.
        posix_spawn_file_actions_addopen(&actions, 0, name, O_RDWR, 0)
        posix_spawn_file_actions_adddup2(&actions, 0, 1)
        posix_spawn_file_actions_adddup2(&actions, 0, 2)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        let newSession: Int16 = 0x80  // POSIX_SPAWN_SETSID
        posix_spawnattr_setflags(&attributes, newSession | Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

        let variables = ProcessInfo.processInfo.environment.merging(["TERM": "xterm"]) { $1 }.merging(environment) {
            $1
        }
        let arguments = words.map { strdup($0) }
        let settings = variables.map { strdup("\($0)=\($1)") }
        defer { for text in arguments + settings { free(text) } }
        var pid = pid_t()
        let code = posix_spawn(&pid, words[0], &actions, &attributes, arguments + [nil], settings + [nil])
        guard code == 0 else {
            close(terminal)
            throw Failure(description: "\(words[0]) could not be started: \(String(cString: strerror(code)))")
        }
        self.pid = pid
        let thread = Thread { [pid, terminal, output, status] in Self.follow(pid, terminal, output, status) }
        thread.stackSize = 256 * 1024
        thread.start()
    }

    deinit {
        if status.value == nil { _ = Glibc.kill(pid, SIGKILL) }
    }

    package func type(_ text: String) {
        let bytes = Array(text.utf8)
        _ = write(terminal, bytes, bytes.count)
    }

    /// What it shows now: all since it last began to draw a whole screen, without colours.
    package var screen: String { Self.screen(output.value) }

    /// Returns when the screen has all of `texts`.
    package func shows(_ texts: String...) async throws {
        try await output.wait { output in
            let screen = Self.screen(output)
            return texts.allSatisfy(screen.contains)
        }
    }

    /// Its exit code, or 128 and the signal's number; it is killed when the test's time is over.
    package func ending() async throws -> Int32? {
        try await status.wait { $0 != nil }
        return status.value
    }

    private static func screen(_ output: String) -> String {
        let start = output.range(of: "\u{1B}[H", options: .backwards)?.upperBound ?? output.startIndex
        return String(output[start...]).replacing(/\u{1B}\[[0-9;?]*[a-zA-Z]/, with: "")
    }

    private static func follow(_ pid: pid_t, _ terminal: Int32, _ output: Watched<String>, _ status: Watched<Int32?>) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        var pending: [UInt8] = []
        while true {
            let count = read(terminal, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            // EIO: all that had the other end have closed it.
            guard count > 0 else { break }
            pending += buffer[..<count]
            // A character may come in two pieces.
            guard let text = String(validating: pending, as: UTF8.self) else { continue }
            pending = []
            output.update { $0 += text }
        }
        var code: Int32 = 0
        while waitpid(pid, &code, 0) < 0, errno == EINTR {}
        close(terminal)
        status.update { $0 = code & 0x7f == 0 ? code >> 8 & 0xff : 128 + (code & 0x7f) }
    }
}
