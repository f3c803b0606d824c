import Glibc

/// Makes a call again as long as signals interrupt it (EINTR), as those do whose handlers were installed without SA_RESTART. Not for `close`,
/// which has closed the descriptor all the same.
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

    /// Something is short that others give back: it may succeed later.
    package var isShortage: Bool { [EMFILE, ENFILE, ENOMEM, EAGAIN].contains(code) }

    package var description: String {
        var buffer = [CChar](repeating: 0, count: 256)
        guard strerror_r(code, &buffer, buffer.count) == 0 else { return "errno \(code)" }
        return buffer.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } } ?? "errno \(code)"
    }
}
