import CurlTransport
import Foundation

extension TLSClient {
    /// The most that is decrypted at once, in bytes: four records (RFC 8446 §5.1).
    private static let decryptedAtOnce = 64 * 1024

    /// Decrypts what has arrived, up to `count` bytes. What comes before a bad record is returned; the next call throws.
    func read(most count: Int) throws(TransferFailure) -> (Reading, Data) {
        var data = Data(count: min(count, Self.decryptedAtOnce))
        var length = 0
        var reading = Reading.needsInput
        do throws(TransferFailure) {
            while length < data.count {
                reading = try data.withUnsafeMutableBytes { buffer in
                    Result { () throws(TransferFailure) in
                        try read(into: UnsafeMutableRawBufferPointer(rebasing: buffer.dropFirst(length)))
                    }
                }.get()
                guard case .bytes(let count) = reading, count > 0 else { break }
                length += count
            }
        } catch {
            guard length > 0 else { throw error }
        }
        return (length > 0 ? .bytes(length) : reading, data.prefix(length))
    }
}
