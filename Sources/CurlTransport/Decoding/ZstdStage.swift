import CCurlNetworkingLibcurl

/// zstd's functions, found at run time.
/// https://facebook.github.io/zstd/zstd_manual.html
struct ZstdFunctions: Sendable {
    typealias Context = OpaquePointer
    typealias Create = @convention(c) () -> Context?
    typealias Free = @convention(c) (Context?) -> Int
    typealias SetParameter = @convention(c) (Context, Int32, Int32) -> Int
    typealias Output = UnsafeMutablePointer<clibcurl_zstd_output>
    typealias Input = UnsafeMutablePointer<clibcurl_zstd_input>
    typealias Decompress = @convention(c) (Context, Output, Input) -> Int
    typealias IsError = @convention(c) (Int) -> UInt32
    typealias ErrorName = @convention(c) (Int) -> UnsafePointer<CChar>?

    let create: Create
    let free: Free
    let setParameter: SetParameter
    let decompress: Decompress
    let isError: IsError
    let errorName: ErrorName

    /// nil unless zstd 1.4 or newer is installed.
    static let loaded = SharedLibrary("libzstd.so.1").flatMap { ZstdFunctions($0) }

    private init?(_ library: SharedLibrary) {
        guard let create: Create = library.function("ZSTD_createDCtx"),
            let free: Free = library.function("ZSTD_freeDCtx"),
            let setParameter: SetParameter = library.function("ZSTD_DCtx_setParameter"),
            let decompress: Decompress = library.function("ZSTD_decompressStream"),
            let isError: IsError = library.function("ZSTD_isError"),
            let errorName: ErrorName = library.function("ZSTD_getErrorName")
        else { return nil }
        self.create = create
        self.free = free
        self.setParameter = setParameter
        self.decompress = decompress
        self.isError = isError
        self.errorName = errorName
    }
}

/// Decodes zstd, with one or more frames.
final class ZstdStage: MemberStage {
    private let functions: ZstdFunctions
    private let context: ZstdFunctions.Context
    var position = MemberPosition.within

    /// ZSTD_d_windowLogMax.
    private static let windowLogParameter: Int32 = 100
    /// RFC 9659's limit for servers: 8 MiB. zstd's own default would spend up to 128 MiB of memory on a frame that asks for it.
    private static let windowLog: Int32 = 23

    init?() {
        guard let functions = ZstdFunctions.loaded, let context = functions.create() else { return nil }
        self.functions = functions
        self.context = context
        _ = functions.setParameter(context, Self.windowLogParameter, Self.windowLog)
    }

    deinit {
        _ = functions.free(context)
    }

    func decodeMember(
        _ input: UnsafeRawBufferPointer,
        into output: UnsafeMutableRawBufferPointer
    ) throws(DecodingFailure) -> (consumed: Int, produced: Int) {
        var from = clibcurl_zstd_input(bytes: input.baseAddress, size: input.count, position: 0)
        var to = clibcurl_zstd_output(bytes: output.baseAddress, size: output.count, position: 0)
        let code = functions.decompress(context, &to, &from)
        guard functions.isError(code) == 0 else { throw DecodingFailure(functions.errorName(code), default: "") }
        if code == 0 { position = .between(.zstd) }
        return (from.position, to.position)
    }

    func beginMember() {}
}
