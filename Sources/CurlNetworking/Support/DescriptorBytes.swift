import CCurlNetworkingLinux
import CurlTransport
import Foundation
import Glibc

/// Reads and writes whole pieces of files, with as many system calls as that takes. Blocks for as long as the file system does.
enum DescriptorBytes {
    /// Fills `buffer` from the file's current position. Returns how many bytes were read: fewer than all if the file ended first.
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

    /// The next `count` bytes, or the rest of the file; none at its end.
    static func read(_ descriptor: Int32, count: Int) throws(SystemError) -> Data {
        var data = Data(count: count)
        let filled = try data.withUnsafeMutableBytes { read(descriptor, into: $0) }.get()
        return data.prefix(filled)
    }

    /// The length of a regular file with this `status`, in bytes; nil if it isn't known before the file has been read: files below `/proc`
    /// have no length, and those below `/sys` that of a page, whatever their content.
    static func knownLength(of descriptor: Int32, _ status: stat) -> Result<Int64?, SystemError> {
        if status.st_size == 0 { return isEmpty(descriptor).map { $0 ? 0 : nil } }
        return .success(isOfSysfs(descriptor) ? nil : Int64(status.st_size))
    }

    private static func isEmpty(_ descriptor: Int32) -> Result<Bool, SystemError> {
        var byte: UInt8 = 0
        let count = uninterrupted { pread(descriptor, &byte, 1, 0) }
        return count < 0 ? .failure(.current) : .success(count == 0)
    }

    /// Whether the file is below `/sys`, wherever that is mounted.
    private static func isOfSysfs(_ descriptor: Int32) -> Bool {
        var status = statfs()
        return fstatfs(descriptor, &status) == 0 && UInt32(truncatingIfNeeded: status.f_type) == sysfsMagic
    }

    /// SYSFS_MAGIC; see statfs(2).
    private static let sysfsMagic: UInt32 = 0x6265_6572

    /// Writes all of `bytes`. `written` grows by the number of bytes written, even on failure.
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

    static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Result<Void, SystemError> {
        var written: Int64 = 0
        return write(bytes, to: descriptor, counting: &written)
    }
}
