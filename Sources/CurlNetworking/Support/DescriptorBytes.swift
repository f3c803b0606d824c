import CurlTransport
import Glibc

/// Reads and writes whole pieces of files, with as many of the system's calls as that takes. Blocks for as long as the file system does.
enum DescriptorBytes {
    /// Fills `buffer` from where the file stands. Returns how much of it, in bytes: less than all where the file ended before.
    static func read(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer) -> Result<Int, SystemError> {
        var filled = 0
        while filled < buffer.count {
            let count = Glibc.read(descriptor, buffer.baseAddress.map { $0 + filled }, buffer.count - filled)
            if count == 0 { break }
            if count > 0 { filled += count } else if let error = failure { return .failure(error) }
        }
        return .success(filled)
    }

    /// Writes all of `bytes`. `written` grows by what went out, in bytes, also in case of a failure.
    static func write(
        _ bytes: UnsafeRawBufferPointer,
        to descriptor: Int32,
        counting written: inout Int64
    ) -> Result<Void, SystemError> {
        var rest = bytes
        while !rest.isEmpty {
            let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
            if count >= 0 {
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
                written += Int64(count)
            } else if let error = failure {
                return .failure(error)
            }
        }
        return .success(())
    }

    /// Writes all of `bytes`.
    static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Result<Void, SystemError> {
        var written: Int64 = 0
        return write(bytes, to: descriptor, counting: &written)
    }

    /// What the last call failed with; nil if a signal interrupted it, and it is to be made again.
    private static var failure: SystemError? {
        let error = SystemError.current
        return error.code == EINTR ? nil : error
    }
}
