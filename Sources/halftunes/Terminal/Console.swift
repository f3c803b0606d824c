import CurlNetworkingLocks
import Foundation
import Glibc

/// Standard output and error, unbuffered. Work continues without a reader, but the program then doesn't claim success.
enum Console {
    private static let lostOutput = Mutex(false)

    /// Whether something couldn't be written to standard output.
    static var hasLostOutput: Bool { lostOutput.withLock { $0 } }

    static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

    /// Whether a person is at the terminal: both input and output are one, and it is capable of drawing.
    static var isInteractive: Bool {
        isTerminal && isatty(STDIN_FILENO) == 1 && ProcessInfo.processInfo.environment["TERM"] ?? "dumb" != "dumb"
    }

    static func print(_ line: String = "") {
        write(line + "\n")
    }

    /// Prints a line. Text from a server can't control the terminal with it.
    static func printError(_ message: String) {
        write("halftunes: \(message.printable)\n", to: STDERR_FILENO)
    }

    static func write(_ text: String, to descriptor: Int32 = STDOUT_FILENO) {
        var text = text
        text.withUTF8 { bytes in
            var rest = UnsafeRawBufferPointer(bytes)
            while !rest.isEmpty {
                let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else {
                    if descriptor == STDOUT_FILENO { lostOutput.withLock { $0 = true } }
                    return
                }
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            }
        }
    }

    /// The terminal's size in characters, or that of a classic one.
    static var size: (columns: Int, rows: Int) {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
            return (80, 24)
        }
        return (Int(size.ws_col), Int(size.ws_row))
    }
}
