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
}
