import CurlTransport
import Foundation
import Glibc

/// A file that is read from its beginning, open as long as this object exists. Blocks for as long as the file system does.
final class FileReader: Sendable {
    private let descriptor: Int32

    init(_ path: String) throws(SystemError) {
        descriptor = uninterrupted { open(path, O_RDONLY | O_CLOEXEC) }
        guard descriptor >= 0 else { throw .current }
    }

    deinit {
        close(descriptor)
    }

    /// The next `count` bytes, or the rest of the file; none at its end.
    func read(_ count: Int) throws(SystemError) -> Data {
        try DescriptorBytes.read(descriptor, count: count)
    }
}
