import CCurlNetworkingLibcurl

/// zlib's functions for compressing, found at run time. https://www.zlib.net/manual.html
struct DeflateFunctions: Sendable {
    typealias Stream = InflateFunctions.Stream
    typealias Initialize =
        @convention(c) (Stream, Int32, Int32, Int32, Int32, Int32, UnsafePointer<CChar>?, Int32) -> Int32
    typealias Step = @convention(c) (Stream, Int32) -> Int32
    typealias Call = @convention(c) (Stream) -> Int32

    let initialize: Initialize
    let deflate: Step
    let reset: Call
    let end: Call
    let version: InflateFunctions.Version

    /// nil if zlib isn't installed.
    static let loaded = SharedLibrary("libz.so.1").flatMap { DeflateFunctions($0) }

    private init?(_ library: SharedLibrary) {
        guard let initialize: Initialize = library.function("deflateInit2_"),
            let deflate: Step = library.function("deflate"),
            let reset: Call = library.function("deflateReset"),
            let end: Call = library.function("deflateEnd"),
            let version: InflateFunctions.Version = library.function("zlibVersion")
        else { return nil }
        self.initialize = initialize
        self.deflate = deflate
        self.reset = reset
        self.end = end
        self.version = version
    }
}

/// Compresses messages, each to whole blocks without an end of the stream (RFC 7692 §7.2.1), with zlib. A message may come in pieces.
package final class MessageDeflater {
    private let functions: DeflateFunctions
    private let stream: ZlibStream
    /// Whether no message refers back to earlier ones.
    private let forgets: Bool

    // zlib.h
    private static let defaultLevel: Int32 = -1
    private static let method: Int32 = 8
    private static let memoryLevel: Int32 = 8
    private static let noFlush: Int32 = 0
    private static let syncFlush: Int32 = 2

    /// The length of the tail that ends each message and isn't sent.
    private static let tail = 4

    /// - Parameters:
    ///   - windowBits: From 9 to 15. zlib doesn't support 8 for bare deflate data.
    ///   - forgets: Whether the other side decodes each message independently.
    /// - Returns: nil without zlib, or if memory runs out.
    package init?(windowBits: Int, forgets: Bool) {
        guard let functions = DeflateFunctions.loaded, (9...15).contains(windowBits) else { return nil }
        let stream = ZlibStream(end: functions.end) { stream, size in
            functions.initialize(
                stream,
                Self.defaultLevel,
                Self.method,
                -Int32(windowBits),
                Self.memoryLevel,
                0,
                functions.version(),
                size
            )
        }
        guard let stream else { return nil }
        self.stream = stream
        self.functions = functions
        self.forgets = forgets
    }

    /// Compresses the next piece of a message, of less than 4 GiB. Returns the bytes to send so far; zlib may hold some back until the last
    /// piece. nil if zlib fails.
    package func deflate(_ piece: UnsafeRawBufferPointer, isLast: Bool = true) -> [UInt8]? {
        var output: [UInt8] = []
        var room = max(256, piece.count / 2)
        stream.pointer.pointee.next_in = piece.bindMemory(to: UInt8.self).baseAddress
        stream.pointer.pointee.avail_in = UInt32(piece.count)
        repeat {
            guard let next = step(isLast ? Self.syncFlush : Self.noFlush, after: output, upTo: room) else { return nil }
            output = next
            room = max(256, output.count)
            // Until all of the output has been written.
        } while stream.pointer.pointee.avail_out == 0
        guard isLast else { return output }
        guard output.count >= Self.tail else { return nil }
        output.removeLast(Self.tail)
        // An empty message is one empty block (RFC 7692 §7.2.3.6).
        if output.isEmpty { output = [0] }
        if forgets { _ = functions.reset(stream.pointer) }
        return output
    }

    /// Returns `output` followed by up to `size` bytes of zlib's output; nil if zlib fails.
    private func step(_ flush: Int32, after output: [UInt8], upTo size: Int) -> [UInt8]? {
        let room = UInt32(clamping: size)
        var code = ZlibStream.ok
        let longer = [UInt8](unsafeUninitializedCapacity: output.count + Int(room)) { buffer, count in
            _ = buffer.initialize(fromContentsOf: output)
            stream.pointer.pointee.next_out = buffer.baseAddress.map { $0 + output.count }
            stream.pointer.pointee.avail_out = room
            code = functions.deflate(stream.pointer, flush)
            count = output.count + Int(room - stream.pointer.pointee.avail_out)
        }
        return code == ZlibStream.ok || code == ZlibStream.bufferError ? longer : nil
    }
}
