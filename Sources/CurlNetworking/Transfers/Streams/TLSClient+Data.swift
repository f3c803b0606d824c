import CurlTransport
import Foundation

extension TLSClient {
    /// The most that is decrypted at once, in bytes: four records (RFC 8446 §5.1).
    private static let decryptedAtOnce = 64 * 1024

    /// Decrypts received bytes, up to `count`. Data before a bad record is returned; the next call throws.
    func read(most count: Int) throws(TransferFailure) -> (Reading, Data) {
        var reading = Reading.needsInput
        let data = try Data.filled(upTo: min(count, Self.decryptedAtOnce)) { buffer throws(TransferFailure) in
            var length = 0
            do throws(TransferFailure) {
                while length < buffer.count {
                    reading = try read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[length...]))
                    guard case .bytes(let count) = reading, count > 0 else { break }
                    length += count
                }
            } catch {
                guard length > 0 else { throw error }
            }
            return length
        }
        return (data.isEmpty ? reading : .bytes(data.count), data)
    }
}
