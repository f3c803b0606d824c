import Foundation
import Glibc

/// The test that started this process: it reads what is said line by line, and answers with lines.
enum Parent {
    private static let pair = AsyncStream<String>.makeStream()

    /// Ends this process when the test does, whichever way.
    static func endWithIt() {
        let thread = Thread {
            while let line = readLine() { pair.continuation.yield(line) }
            _exit(3)
        }
        thread.start()
    }

    /// The lines that the test sends.
    static var lines: AsyncStream<String> { pair.stream }

    /// Any thread.
    static func say(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        _ = write(STDOUT_FILENO, bytes, bytes.count)
    }
}
