import CCurlNetworkingLibcurl

/// zlib's state of one stream, at a fixed address, since zlib keeps a pointer to it.
struct ZlibStream: ~Copyable {
    let pointer: UnsafeMutablePointer<clibcurl_zlib_stream>
    private let end: InflateFunctions.End

    /// Calls `initialize` with the stream and its size. nil if that fails.
    init?(end: @escaping InflateFunctions.End, _ initialize: (InflateFunctions.Stream, Int32) -> Int32) {
        let pointer = InflateFunctions.Stream.allocate(capacity: 1)
        pointer.initialize(to: clibcurl_zlib_stream())
        guard initialize(pointer, Int32(MemoryLayout<clibcurl_zlib_stream>.size)) == Self.ok else {
            pointer.deallocate()
            return nil
        }
        (self.pointer, self.end) = (pointer, end)
    }

    deinit {
        _ = end(pointer)
        pointer.deallocate()
    }

    // zlib.h
    static let ok: Int32 = 0
    static let streamEnd: Int32 = 1
    static let needsDictionary: Int32 = 2
    /// No progress was possible.
    static let bufferError: Int32 = -5
}
