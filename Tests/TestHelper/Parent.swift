import Foundation
import Glibc

/// The test that started this process: it reads what is said line by line, and answers with lines.
enum Parent {
    private static let pair = AsyncStream<String>.makeStream()

    /// Ends this process when the test does, whichever way.
    static func endWithIt() {
        // A descriptor of its own, where there is one: libcurl 7.88 closes 0 if it lacks memory to look up a name (asyn-thread.c).
        let own = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 100)
        let thread = Thread {
            let input = fdopen(own < 0 ? STDIN_FILENO : own, "r")
            var line: UnsafeMutablePointer<CChar>?
            var capacity = 0
            while let input, getline(&line, &capacity, input) > 0, let line {
                pair.continuation.yield(String(String(cString: line).dropLast()))
            }
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
