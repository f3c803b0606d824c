import CurlTransport
import Foundation
import Glibc

/// How records are got rid of. One that can't be removed, because its file has others or its folder is read-only, is made void: it is
/// overwritten where it is, as it may contain credentials. That also works on a full disk.
enum RecordFile {
    private static let void = UInt8(ascii: "-")

    static func isVoid(_ record: Data) -> Bool { record.first == void }

    /// Removes the file or, failing that, makes all of it void. If this throws, another agent will find its records.
    static func remove(_ path: String) throws(SystemError) {
        if unlink(path) == 0 { return }
        let error = SystemError.current
        // There is no such file, or a folder has taken its place.
        if [ENOENT, ENOTDIR, EISDIR].contains(error.code) { return }
        try makeVoid(in: path)
    }

    /// - Parameter place: In bytes; nil for the whole file.
    static func makeVoid(_ place: Range<Int>? = nil, in path: String) throws(SystemError) {
        let descriptor = uninterrupted { open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC) }
        guard descriptor >= 0 else { throw .current }
        defer { close(descriptor) }
        let end = lseek(descriptor, 0, SEEK_END)
        let place = place ?? 0..<max(Int(end), 0)
        guard end >= 0, lseek(descriptor, off_t(place.lowerBound), SEEK_SET) >= 0 else { throw .current }
        let filler = [UInt8](repeating: void, count: place.count)
        try filler.withUnsafeBytes { DescriptorBytes.write($0, to: descriptor) }.get()
    }
}
