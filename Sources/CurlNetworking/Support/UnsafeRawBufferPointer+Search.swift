import Glibc

extension UnsafeRawBufferPointer {
    /// The position of the first `byte`.
    func position(of byte: UInt8) -> Int? {
        guard let baseAddress, let found = memchr(baseAddress, Int32(byte), count) else { return nil }
        return UnsafeRawPointer(found) - baseAddress
    }

    func hasPrefix(_ prefix: StaticString) -> Bool {
        guard let baseAddress, count >= prefix.utf8CodeUnitCount else { return false }
        return memcmp(baseAddress, prefix.utf8Start, prefix.utf8CodeUnitCount) == 0
    }

    /// Whether all bytes are ASCII, and none is below the space.
    var isPlainASCII: Bool {
        // Without an early exit, which would keep the compiler from looking at many bytes at once.
        reduce(Int8.max) { Swift.min($0, Int8(bitPattern: $1)) } >= 0x20
    }

    /// Without leading and trailing white space and line ends.
    var trimmed: UnsafeRawBufferPointer {
        var (start, end) = (0, count)
        while end > start, Self.isSpace(self[end - 1]) { end -= 1 }
        while start < end, Self.isSpace(self[start]) { start += 1 }
        return UnsafeRawBufferPointer(rebasing: self[start..<end])
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || (UInt8(ascii: "\t")...UInt8(ascii: "\r")).contains(byte)
    }
}
