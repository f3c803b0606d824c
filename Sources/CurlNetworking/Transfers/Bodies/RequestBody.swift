import CurlTransport
import Foundation
import Glibc

/// A request's body, read as libcurl asks for it. Loop only.
protocol RequestBody: AnyObject {
    /// In bytes; nil if unknown.
    var length: Int64? { get }

    /// Puts the next bytes into `buffer`. Blocks only to read a file.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(URLError) -> BodyRead

    /// Continues at `offset`; false if that can't be done.
    func seek(to offset: Int64) -> Bool

    /// Closes files and streams.
    func close()
}

enum BodyRead: Equatable {
    /// The number of bytes; 0 ends the body.
    case bytes(Int)
    /// None yet; the body reports when there are some.
    case notYet
}

/// A body in memory.
final class DataBody: RequestBody {
    private let data: Data
    private var position = 0

    init(_ data: Data) {
        self.data = data
    }

    var length: Int64? { Int64(data.count) }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> BodyRead {
        let start = data.startIndex + position
        let count = data.copyBytes(to: buffer, from: start..<min(start + buffer.count, data.endIndex))
        position += count
        return .bytes(count)
    }

    func seek(to offset: Int64) -> Bool {
        guard (0...Int64(data.count)).contains(offset) else { return false }
        position = Int(offset)
        return true
    }

    func close() {}
}

/// The part of a body that begins at an offset.
final class RemainingBody: RequestBody {
    let length: Int64?
    private let whole: any RequestBody
    private let start: Int64
    private var position: Int64 = 0

    /// Closes `whole` with itself. nil if it has no such place.
    ///
    /// - Parameter length: In bytes; nil for everything that follows.
    init?(_ whole: any RequestBody, from start: Int64, length: Int64? = nil) {
        guard whole.seek(to: start) else { return nil }
        (self.whole, self.start) = (whole, start)
        let rest = whole.length.map { $0 - start }
        self.length = length.map { min($0, rest ?? $0) } ?? rest
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(URLError) -> BodyRead {
        let left = length.map { max(0, $0 - position) } ?? .max
        guard left > 0 else { return .bytes(0) }
        let piece = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(Int(clamping: left)))
        let read = try whole.read(into: piece)
        if case .bytes(let count) = read { position += Int64(count) }
        return read
    }

    func seek(to offset: Int64) -> Bool {
        guard offset >= 0, whole.seek(to: start.addingClamped(offset)) else { return false }
        position = offset
        return true
    }

    func close() { whole.close() }
}

/// A body in a file, read as it is sent. If the file has become shorter since the upload began, the task fails; what it has grown by is not
/// sent.
final class FileBody: RequestBody {
    var length: Int64? { size }
    private let size: Int64
    private let descriptor: Int32
    private var position: Int64 = 0
    private let url: URL
    private let requestURL: URL?

    /// Opens the file. Blocks for as long as that takes. Errors are about `requestURL`, and name the file.
    init(_ url: URL, for requestURL: URL? = nil) throws(URLError) {
        guard url.isFileURL else {
            throw URLError(.fileDoesNotExist, requestURL, "The URL of an upload's file is no file URL: \(url).")
        }
        let details = [NSFilePathErrorKey: url.path]
        let descriptor = uninterrupted { open(url.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) }
        guard descriptor >= 0 else {
            let error = SystemError.current
            let code: URLError.Code = error.code == EACCES ? .noPermissionsToReadFile : .fileDoesNotExist
            throw URLError(code, requestURL, "The upload's file \(url.path) can't be read: \(error).", error, details)
        }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            let isDirectory = status.st_mode & S_IFMT == S_IFDIR
            Glibc.close(descriptor)
            let code: URLError.Code = isDirectory ? .fileIsDirectory : .fileDoesNotExist
            let problem = isDirectory ? "is a directory" : "is not a regular file"
            throw URLError(code, requestURL, "The upload's file \(url.path) \(problem).", nil, details)
        }
        self.url = url
        self.requestURL = requestURL
        self.descriptor = descriptor
        size = Int64(status.st_size)
    }

    /// How long the body would be; nil if the file can't be sent. Any thread.
    static func length(of url: URL) -> Int64? {
        var status = stat()
        guard url.isFileURL, stat(url.path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return Int64(status.st_size)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(URLError) -> BodyRead {
        let wanted = Int(min(Int64(buffer.count), size - position))
        guard wanted > 0 else { return .bytes(0) }
        let count = uninterrupted { pread(descriptor, buffer.baseAddress, wanted, off_t(position)) }
        guard count > 0 else {
            let error = count < 0 ? SystemError.current : nil
            throw URLError(
                .cannotOpenFile,
                requestURL,
                "The upload's file \(url.path) \(error.map { "can't be read: \($0)" } ?? "became shorter while it was sent").",
                error,
                [NSFilePathErrorKey: url.path]
            )
        }
        position += Int64(count)
        return .bytes(count)
    }

    func seek(to offset: Int64) -> Bool {
        guard (0...size).contains(offset) else { return false }
        position = offset
        return true
    }

    func close() {
        Glibc.close(descriptor)
    }
}
