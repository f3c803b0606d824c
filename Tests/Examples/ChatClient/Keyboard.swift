import Foundation

enum Keyboard {
    /// The lines of the standard input, which are read by a thread of their own: `readLine()` blocks.
    static func lines() -> AsyncStream<String> {
        let (lines, continuation) = AsyncStream<String>.makeStream()
        Thread.detachNewThread {
            while let line = readLine() { continuation.yield(line) }
            continuation.finish()
        }
        return lines
    }
}
