import CurlTransport
import Foundation
import Glibc

/// Reads and writes whole pieces of files, with as many of the system's calls as that takes. Blocks for as long as the file system does.
enum DescriptorBytes {
    /// Fills `buffer` from where the file stands. Returns how much of it, in bytes: less than all where the file ended before.
    static func read(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer) -> Result<Int, SystemError> {
        var filled = 0
        while filled < buffer.count {
            let rest = buffer.baseAddress.map { $0 + filled }
            let count = uninterrupted { Glibc.read(descriptor, rest, buffer.count - filled) }
            guard count >= 0 else { return .failure(.current) }
            if count == 0 { break }
            filled += count
        }
        return .success(filled)
    }

    /// The next `count` bytes, or what is left of the file; none at its end.
    static func read(_ descriptor: Int32, count: Int) throws(SystemError) -> Data {
        var data = Data(count: count)
        let filled = try data.withUnsafeMutableBytes { read(descriptor, into: $0) }.get()
        return data.prefix(filled)
    }

    /// Whether a file without a length has no bytes: the system gives none to files below `/proc` either, as it doesn't know them before they have
    /// been read.
    static func isEmpty(_ descriptor: Int32) -> Result<Bool, SystemError> {
        var byte: UInt8 = 0
        let count = uninterrupted { pread(descriptor, &byte, 1, 0) }
        return count < 0 ? .failure(.current) : .success(count == 0)
    }

    /// Writes all of `bytes`. `written` grows by what went out, in bytes, also in case of a failure.
    static func write(
        _ bytes: UnsafeRawBufferPointer,
        to descriptor: Int32,
        counting written: inout Int64
    ) -> Result<Void, SystemError> {
        var rest = bytes
        while !rest.isEmpty {
            let count = uninterrupted { Glibc.write(descriptor, rest.baseAddress, rest.count) }
            guard count >= 0 else { return .failure(.current) }
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            written += Int64(count)
        }
        return .success(())
    }

    /// Writes all of `bytes`.
    static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Result<Void, SystemError> {
        var written: Int64 = 0
        return write(bytes, to: descriptor, counting: &written)
    }
}
