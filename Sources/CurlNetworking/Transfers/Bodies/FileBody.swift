import CurlTransport
import Foundation

/// A body in a file, read as it is sent. If the file has become shorter since the upload began, the task fails; bytes that it has grown by
/// aren't sent. Loop only.
///
/// Bytes that the system has in memory are read on the loop. From the first read that would have to wait for the file system, or may have
/// to, another thread reads ahead.
final class FileBody: RequestBody {
    let length: Int64?
    /// nil once it is closed.
    private var file: ReadableFile?
    private let requestURL: URL?
    private let becameReadable: @Sendable () -> Void
    private var position: Int64 = 0
    private var ahead: ReadAhead?

    /// Errors are about `requestURL`, and name the file.
    ///
    /// - Parameter becameReadable: Called on the reading thread when bytes are available again.
    init(_ file: ReadableFile, for requestURL: URL?, becameReadable: @escaping @Sendable () -> Void) {
        self.file = file
        length = file.length
        self.requestURL = requestURL
        self.becameReadable = becameReadable
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(URLError) -> BodyRead {
        guard let file, position < file.length else { return .bytes(0) }
        let rest = Int(clamping: file.length - position)
        let read = try read(file, into: UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(rest)))
        if case .bytes(let count) = read { position += Int64(count) }
        return read
    }

    private func read(
        _ file: ReadableFile,
        into buffer: UnsafeMutableRawBufferPointer
    ) throws(URLError) -> BodyRead {
        if let ahead { return try ahead.read(into: buffer) }
        if let count = file.readAtOnce(into: buffer, at: position) { return .bytes(count) }
        let source = FileRest(of: file, from: position, for: requestURL)
        let ahead = ReadAhead(source, on: .namedFiles, becameReadable: becameReadable)
        self.ahead = ahead
        return try ahead.read(into: buffer)
    }

    func seek(to offset: Int64) -> Bool {
        guard let file, (0...file.length).contains(offset) else { return false }
        position = offset
        ahead?.close()
        ahead = nil
        return true
    }

    /// A file that is being read is closed when its read returns.
    func close() {
        ahead?.close()
        ahead = nil
        file = nil
    }
}

/// The rest of a file.
private final class FileRest: BlockingSource {
    private let file: ReadableFile
    private var position: Int64
    private let requestURL: URL?

    init(of file: ReadableFile, from position: Int64, for requestURL: URL?) {
        self.file = file
        self.position = position
        self.requestURL = requestURL
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(URLError) -> Int {
        let wanted = buffer.prefix(Int(clamping: file.length - position))
        guard !wanted.isEmpty else { return 0 }
        switch file.read(into: UnsafeMutableRawBufferPointer(rebasing: wanted), at: position) {
        case .success(0):
            throw file.error("became shorter while it was sent", nil, for: requestURL)
        case .success(let count):
            position += Int64(count)
            return count
        case .failure(let error):
            throw file.error("can't be read: \(error)", error, for: requestURL)
        }
    }

    func close() {}
}
