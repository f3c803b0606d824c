import Glibc

/// Reads files with certificates and keys.
enum CertificateFile {
    /// No certificate is larger.
    private static let maximumSize = 1 << 20

    /// Empty if there is no such file.
    static func content(of path: String) -> [UInt8] {
        let descriptor = uninterrupted { open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) }
        guard descriptor >= 0 else { return [] }
        defer { close(descriptor) }
        return [UInt8](unsafeUninitializedCapacity: maximumSize) { buffer, count in
            while count < maximumSize {
                let rest = buffer.baseAddress.map { $0 + count }
                let length = uninterrupted { read(descriptor, rest, maximumSize - count) }
                guard length > 0 else { return }
                count += length
            }
        }
    }
}
