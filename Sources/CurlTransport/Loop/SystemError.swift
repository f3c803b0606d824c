import Glibc

/// Repeats a call for as long as signals interrupt it (EINTR), as signals do whose handlers were installed without SA_RESTART. Not for
/// `close`, which closes the descriptor regardless.
package func uninterrupted<Result: SignedInteger>(_ call: () -> Result) -> Result {
    while true {
        let result = call()
        if result >= 0 || errno != EINTR { return result }
    }
}

/// A saved `errno`.
package struct SystemError: Error, Hashable, Sendable, CustomStringConvertible {
    package var code: Int32

    package init(code: Int32) {
        self.code = code
    }

    package static var current: SystemError { SystemError(code: errno) }

    /// Whether a scarce resource ran out that may become available again.
    package var isShortage: Bool { [EMFILE, ENFILE, ENOMEM, EAGAIN].contains(code) }

    package var description: String {
        var buffer = [CChar](repeating: 0, count: 256)
        guard strerror_r(code, &buffer, buffer.count) == 0 else { return "errno \(code)" }
        return buffer.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } } ?? "errno \(code)"
    }
}
