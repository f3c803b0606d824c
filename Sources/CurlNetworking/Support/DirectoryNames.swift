import CurlTransport
import Glibc

/// The names in a directory, one at a time: there may be very many. Blocks for as long as the file system does.
struct DirectoryNames: ~Copyable {
    private let stream: OpaquePointer

    init(_ path: String) throws(SystemError) {
        guard let stream = opendir(path) else { throw .current }
        self.stream = stream
    }

    /// Takes over `descriptor`, and closes it even on failure.
    init(closing descriptor: Int32) throws(SystemError) {
        guard let stream = fdopendir(descriptor) else {
            let error = SystemError.current
            close(descriptor)
            throw error
        }
        self.stream = stream
    }

    deinit { closedir(stream) }

    /// For calls that take names below the directory. Open as long as this value exists.
    var descriptor: Int32 { dirfd(stream) }

    /// The next name, in no particular order; nil at the end.
    func next() throws(SystemError) -> String? {
        while true {
            // Distinguishes a failure from the end.
            errno = 0
            guard let entry = readdir(stream) else {
                guard errno == 0 else { throw .current }
                return nil
            }
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { return name }
        }
    }
}
