import Foundation

/// Where warnings go.
enum StandardError {
    /// Writes a line, or drops it: the program may have closed its standard error, or nobody may read it.
    static func write(_ line: String) {
        // `write(_:)` traps if it fails.
        try? FileHandle.standardError.write(contentsOf: Data((line + "\n").utf8))
    }
}
