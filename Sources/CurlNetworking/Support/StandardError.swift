import Foundation

/// Where warnings go.
enum StandardError {
    /// Writes a line. Errors are ignored: the program may have closed its standard error, or its reader may be gone.
    static func write(_ line: String) {
        // `write(_:)` traps if it fails.
        try? FileHandle.standardError.write(contentsOf: Data((line + "\n").utf8))
    }
}
