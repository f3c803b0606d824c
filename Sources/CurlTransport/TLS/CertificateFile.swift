import Glibc

/// Reads files with certificates and keys.
enum CertificateFile {
    /// No certificate is larger.
    private static let maximumSize = 1 << 20

    /// Empty if there is no such file.
    static func content(of path: String) -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return [] }
        defer { close(descriptor) }
        return [UInt8](unsafeUninitializedCapacity: maximumSize) { buffer, count in
            while count < maximumSize {
                let length = read(descriptor, buffer.baseAddress.map { $0 + count }, maximumSize - count)
                guard length > 0 else { return }
                count += length
            }
        }
    }
}
