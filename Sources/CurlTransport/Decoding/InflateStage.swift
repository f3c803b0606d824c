import CCurlNetworkingLibcurl

/// zlib's functions, found at run time.
/// https://www.zlib.net/manual.html
struct InflateFunctions: Sendable {
    typealias Stream = UnsafeMutablePointer<clibcurl_zlib_stream>
    typealias Initialize = @convention(c) (Stream, Int32, UnsafePointer<CChar>?, Int32) -> Int32
    typealias Step = @convention(c) (Stream, Int32) -> Int32
    typealias End = @convention(c) (Stream) -> Int32
    typealias Version = @convention(c) () -> UnsafePointer<CChar>?

    let initialize: Initialize
    let inflate: Step
    let reset: Step
    let end: End
    let version: Version
    /// Begins a new stream that may refer back to the last one's output; zlib 1.2.5.3 and newer.
    let resetKeepingWindow: End?

    /// nil if zlib isn't installed.
    static let loaded = SharedLibrary("libz.so.1").flatMap { InflateFunctions($0) }

    private init?(_ library: SharedLibrary) {
        guard let initialize: Initialize = library.function("inflateInit2_"),
            let inflate: Step = library.function("inflate"),
            let reset: Step = library.function("inflateReset2"),
            let end: End = library.function("inflateEnd"),
            let version: Version = library.function("zlibVersion")
        else { return nil }
        self.initialize = initialize
        self.inflate = inflate
        self.reset = reset
        self.end = end
        self.version = version
        resetKeepingWindow = library.function("inflateResetKeep")
    }

    /// nil if memory runs out.
    func makeStream(_ window: Int32) -> ZlibStream? {
        ZlibStream(end: end) { initialize($0, window, version(), $1) }
    }

    /// One call of `inflate`. Returns zlib's code, and how many bytes it has used and written.
    func step(
        _ stream: Stream,
        _ input: UnsafeRawBufferPointer,
        into output: UnsafeMutableRawBufferPointer
    ) -> (code: Int32, consumed: Int, produced: Int) {
        let inputSize = UInt32(clamping: input.count)
        let outputSize = UInt32(clamping: output.count)
        stream.pointee.next_in = input.bindMemory(to: UInt8.self).baseAddress
        stream.pointee.avail_in = inputSize
        stream.pointee.next_out = output.bindMemory(to: UInt8.self).baseAddress
        stream.pointee.avail_out = outputSize
        let code = inflate(stream, 0)
        return (code, Int(inputSize - stream.pointee.avail_in), Int(outputSize - stream.pointee.avail_out))
    }
}

/// Decodes gzip, with one or more members, and deflate, with or without the zlib wrapper.
final class InflateStage: MemberStage {
    enum Format { case gzip, deflate }

    /// Whether deflate data has the zlib wrapper.
    private enum Wrapper {
        /// Waiting for the first two bytes, which decide; holds the first once it has arrived.
        case unknown(UInt8?)
        case known
    }

    private let functions: InflateFunctions
    private let stream: ZlibStream
    private let format: Format
    private var wrapper: Wrapper
    var position = MemberPosition.within

    // zlib.h; windows are 32 KiB.
    private static let zlibWindow: Int32 = 15
    private static let gzipWindow: Int32 = 15 + 16
    private static let rawWindow: Int32 = -15

    init?(_ format: Format) {
        guard let functions = InflateFunctions.loaded else { return nil }
        let window = format == .gzip ? Self.gzipWindow : Self.zlibWindow
        guard let stream = functions.makeStream(window) else { return nil }
        self.stream = stream
        self.functions = functions
        self.format = format
        wrapper = format == .gzip ? .known : .unknown(nil)
    }

    func decodeMember(
        _ input: UnsafeRawBufferPointer,
        into output: UnsafeMutableRawBufferPointer
    ) throws(DecodingFailure) -> (consumed: Int, produced: Int) {
        switch wrapper {
        case .unknown(let first): try choose(input, first, into: output)
        case .known: try inflate(input, into: output)
        }
    }

    private func inflate(
        _ input: UnsafeRawBufferPointer,
        into output: UnsafeMutableRawBufferPointer
    ) throws(DecodingFailure) -> (consumed: Int, produced: Int) {
        let (code, consumed, produced) = functions.step(stream.pointer, input, into: output)
        switch code {
        case ZlibStream.ok, ZlibStream.bufferError: break
        case ZlibStream.streamEnd: position = format == .gzip ? .between(.gzip) : .over
        case ZlibStream.needsDictionary: throw DecodingFailure("it needs a dictionary")
        default: throw DecodingFailure(stream.pointer.pointee.msg, default: "zlib's error \(code)")
        }
        return (consumed, produced)
    }

    func beginMember() throws(DecodingFailure) {
        try restart(Self.gzipWindow)
    }

    private func restart(_ window: Int32) throws(DecodingFailure) {
        guard functions.reset(stream.pointer, window) == ZlibStream.ok else {
            throw DecodingFailure("zlib can't start again")
        }
    }

    // MARK: - deflate

    private func choose(
        _ input: UnsafeRawBufferPointer,
        _ first: UInt8?,
        into output: UnsafeMutableRawBufferPointer
    ) throws(DecodingFailure) -> (consumed: Int, produced: Int) {
        guard let byte = input.first else { return (0, 0) }
        guard let first else {
            wrapper = .unknown(byte)
            return (1, 0)
        }
        try restart(Self.isWrapping(first, byte) ? Self.zlibWindow : Self.rawWindow)
        wrapper = .known
        // zlib consumes both: they produce less than there is room for.
        let (_, produced) = try decodeMember(pieces: [first, byte], into: output)
        return (1, produced)
    }

    /// RFC 1950 §2.2. No encoder starts bare deflate data like this: the padding before its first stored block would have to be non-zero.
    private static func isWrapping(_ first: UInt8, _ second: UInt8) -> Bool {
        first & 0x0F == 8 && first >> 4 <= 7 && (UInt16(first) << 8 | UInt16(second)) % 31 == 0
    }
}
