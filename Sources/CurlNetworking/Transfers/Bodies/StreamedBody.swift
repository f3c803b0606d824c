import Foundation

/// A body from an `InputStream`, which may block: another thread reads ahead. It can't be restarted. Nothing touches the stream before the
/// body is asked for bytes: a request that ends earlier leaves the stream untouched. Loop only.
final class StreamedBody: RequestBody {
    let length: Int64?
    private let ahead: ReadAhead
    /// Whether bytes have been requested: the stream is no longer untouched.
    private(set) var hasBegun = false
    private var delivered: Int64 = 0

    /// `length` is nil if unknown; then the body is sent chunked. A shorter stream fails the task, and so does a longer one.
    ///
    /// - Parameter becameReadable: Called on the reading thread when bytes are available again.
    init(_ stream: InputStream, length: Int64?, url: URL?, becameReadable: @escaping @Sendable () -> Void) {
        self.length = length
        let source = StreamSource(stream, length: length, url: url)
        ahead = ReadAhead(source, on: .blocking, becameReadable: becameReadable)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(URLError) -> BodyRead {
        // Whether a stream that has to be empty is so was checked before, and a thread may still be reading it.
        guard length != 0 else { return .bytes(0) }
        hasBegun = true
        let read = try ahead.read(into: buffer)
        if case .bytes(let count) = read { delivered += Int64(count) }
        return read
    }

    func seek(to offset: Int64) -> Bool {
        offset == 0 && delivered == 0
    }

    /// A stream that is being read is closed when its read returns: streams can't be closed under a read.
    func close() {
        ahead.close()
    }

    /// Calls `found` with nil if `stream` has ended, or else with an error: the stream has more bytes, or has failed. Closes the stream,
    /// which isn't needed any further. On another thread, because reading may block.
    static func findEnd(of stream: InputStream, url: URL?, found: @escaping @Sendable (URLError?) -> Void) {
        nonisolated(unsafe) let source = StreamSource(stream, length: 0, url: url)
        WorkThreads.blocking.run {
            defer { source.close() }
            var byte: UInt8 = 0
            do throws(URLError) {
                _ = try withUnsafeMutableBytes(of: &byte) { bytes in
                    Result { () throws(URLError) in try source.read(into: bytes) }
                }.get()
                found(nil)
            } catch {
                found(error)
            }
        }
    }
}

/// A stream that has to have the announced length.
private final class StreamSource: BlockingSource {
    private let stream: InputStream
    /// In bytes; nil for any.
    private let length: Int64?
    private let url: URL?
    private var position: Int64 = 0

    init(_ stream: InputStream, length: Int64?, url: URL?) {
        self.stream = stream
        self.length = length
        self.url = url
    }

    /// With the last bytes, requests one byte more than the announced length. If that arrives, none of them are returned, so the body isn't
    /// sent completely: the server would take bytes beyond its length for another request. A stream that blocks there gets time to end;
    /// if one of its reads ends there, so does the body.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(URLError) -> Int {
        // Only in the first read, which ends with bytes or the stream's end. Later, a subclass's status may still say that it isn't open.
        if position == 0, stream.streamStatus == .notOpen { stream.open() }
        let bytes = buffer.bindMemory(to: UInt8.self)
        let wanted = wanted(of: buffer.count)
        let count = bytes.baseAddress.map { stream.read($0, maxLength: wanted) } ?? 0
        guard count >= 0 else { throw failure }
        guard count <= wanted else {
            let description = "The body's stream says that it has read \(count) bytes of \(wanted)."
            throw URLError(.requestBodyStreamExhausted, url: url, description)
        }
        position += Int64(count)
        guard let length else { return count }
        if position > length {
            let description = "The body's stream has more bytes than its Content-Length says."
            throw URLError(.dataLengthExceedsMaximum, url: url, description)
        }
        if count == 0, position < length {
            throw URLError(.requestBodyStreamExhausted, url: url, "The body's stream ended before its Content-Length.")
        }
        return count
    }

    private func wanted(of room: Int) -> Int {
        guard let length else { return room }
        let rest = Int(clamping: max(0, length - position))
        return rest < room ? rest + 1 : room - 1
    }

    func close() { stream.close() }

    /// Foundation's getter traps unless there is an error, as with a stream that another task has used and closed.
    private var failure: URLError {
        guard stream.streamStatus == .error, let reason = stream.streamError else {
            return URLError(.requestBodyStreamExhausted, url: url, "The body's stream failed.")
        }
        let text = "The body's stream failed: \(reason.localizedDescription)"
        return URLError(.requestBodyStreamExhausted, url: url, text, details: [NSUnderlyingErrorKey: reason])
    }
}
