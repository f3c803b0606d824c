/// brotli's functions, found at run time.
/// https://brotli.org/decode.html
struct BrotliFunctions: Sendable {
    typealias State = OpaquePointer
    typealias Create = @convention(c) (UnsafeRawPointer?, UnsafeRawPointer?, UnsafeRawPointer?) -> State?
    typealias Destroy = @convention(c) (State?) -> Void
    typealias Input = UnsafeMutablePointer<UnsafePointer<UInt8>?>
    typealias Output = UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>
    typealias Size = UnsafeMutablePointer<Int>
    typealias Decompress = @convention(c) (State, Size, Input, Size, Output, Size?) -> Int32
    typealias ErrorCode = @convention(c) (State) -> Int32
    typealias ErrorText = @convention(c) (Int32) -> UnsafePointer<CChar>?

    let create: Create
    let destroy: Destroy
    let decompress: Decompress
    let errorCode: ErrorCode
    let errorText: ErrorText

    /// nil if brotli isn't installed.
    static let loaded = SharedLibrary("libbrotlidec.so.1").flatMap { BrotliFunctions($0) }

    private init?(_ library: SharedLibrary) {
        guard let create: Create = library.function("BrotliDecoderCreateInstance"),
            let destroy: Destroy = library.function("BrotliDecoderDestroyInstance"),
            let decompress: Decompress = library.function("BrotliDecoderDecompressStream"),
            let errorCode: ErrorCode = library.function("BrotliDecoderGetErrorCode"),
            let errorText: ErrorText = library.function("BrotliDecoderErrorString")
        else { return nil }
        self.create = create
        self.destroy = destroy
        self.decompress = decompress
        self.errorCode = errorCode
        self.errorText = errorText
    }
}

final class BrotliStage: DecodingStage {
    private let functions: BrotliFunctions
    private let state: BrotliFunctions.State
    private(set) var isComplete = false

    /// BROTLI_DECODER_RESULT_ERROR and _SUCCESS.
    private static let error: Int32 = 0
    private static let success: Int32 = 1

    init?() {
        guard let functions = BrotliFunctions.loaded, let state = functions.create(nil, nil, nil) else { return nil }
        self.functions = functions
        self.state = state
    }

    deinit {
        functions.destroy(state)
    }

    func decode(
        _ input: UnsafeRawBufferPointer,
        into output: UnsafeMutableRawBufferPointer
    ) throws(DecodingFailure) -> (consumed: Int, produced: Int) {
        if isComplete { return (input.count, 0) }
        var (inputSize, outputSize) = (input.count, output.count)
        var next = input.bindMemory(to: UInt8.self).baseAddress
        var room = output.bindMemory(to: UInt8.self).baseAddress
        switch functions.decompress(state, &inputSize, &next, &outputSize, &room, nil) {
        case Self.error:
            throw DecodingFailure(functions.errorText(functions.errorCode(state)), default: "")
        case Self.success:
            isComplete = true
        default: break
        }
        return (input.count - inputSize, output.count - outputSize)
    }

    /// The most bytes that one call may decode, regardless of the room for output: the size of the window, which the first byte gives (RFC
    /// 7932 §9.1).
    static func windowSize(first byte: UInt8) -> Int {
        if byte & 1 == 0 { return 1 << 16 }
        let high = byte >> 1 & 7
        if high > 0 { return 1 << (17 + Int(high)) }
        let low = byte >> 4 & 7
        // 1 would be a window larger than the format allows, and is refused.
        return low < 2 ? 1 << 17 : 1 << (8 + Int(low))
    }
}
