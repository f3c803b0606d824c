import CCurlNetworkingLibcurl

/// Inflates messages, each a number of whole blocks without an end of the stream (RFC 7692 §7.2.2), with zlib.
package final class MessageInflater {
    package struct Step {
        /// How many bytes of the output are filled.
        package var produced: Int
        /// Whether all input is used and all output is written.
        package var isDone: Bool
    }

    private let functions: InflateFunctions
    private let stream: ZlibStream
    private let windowBits: Int32
    /// Whether messages don't refer back to earlier ones.
    private let forgets: Bool
    /// Whether the data inflated so far ends with a block.
    private var isBetweenBlocks = false

    /// - Parameters:
    ///   - windowBits: From 8 to 15: the other side refers back no further than 2 to the power of this.
    ///   - forgets: Whether the other side encodes each message independently.
    /// - Returns: nil without zlib, or if memory runs out.
    package init?(windowBits: Int, forgets: Bool) {
        guard let functions = InflateFunctions.loaded, (8...15).contains(windowBits),
            let stream = functions.makeStream(-Int32(windowBits))
        else { return nil }
        self.stream = stream
        self.functions = functions
        self.forgets = forgets
        self.windowBits = -Int32(windowBits)
    }

    /// Whether zlib is installed.
    package static var isAvailable: Bool { InflateFunctions.loaded != nil && DeflateFunctions.loaded != nil }

    /// Inflates from the beginning of `input`, which it shortens, until it is used up or `output` is full.
    package func inflate(
        _ input: inout UnsafeRawBufferPointer,
        into output: UnsafeMutableRawBufferPointer
    ) throws(DecodingFailure) -> Step {
        let (code, consumed, produced) = functions.step(stream.pointer, input, into: output)
        input = UnsafeRawBufferPointer(rebasing: input.dropFirst(consumed))
        switch code {
        case ZlibStream.ok, ZlibStream.bufferError: break
        // A sender may end its stream with a message, and then begin another (RFC 7692 §7.2.3.4).
        case ZlibStream.streamEnd: try restart(keepingWindow: !forgets)
        default: throw DecodingFailure(stream.pointer.pointee.msg, default: "zlib's error \(code)")
        }
        let isStuck = consumed == 0 && produced == 0
        // A call that does nothing also changes `data_type`.
        if !isStuck { isBetweenBlocks = stream.pointer.pointee.data_type == Self.betweenBlocks }
        return Step(produced: produced, isDone: isStuck || input.isEmpty && stream.pointer.pointee.avail_out > 0)
    }

    /// zlib's `data_type` when all blocks are complete and no bits are left over. https://www.zlib.net/manual.html (`Z_BLOCK`)
    private static let betweenBlocks: Int32 = 128

    /// Called when all of the message was inflated, including the tail that its sender leaves out.
    package func endMessage() throws(DecodingFailure) {
        guard isBetweenBlocks else { throw DecodingFailure("it ends amid a block") }
        if forgets { try restart(keepingWindow: false) }
    }

    private func restart(keepingWindow: Bool) throws(DecodingFailure) {
        let code =
            if keepingWindow, let resetKeeping = functions.resetKeepingWindow {
                resetKeeping(stream.pointer)
            } else {
                functions.reset(stream.pointer, windowBits)
            }
        guard code == ZlibStream.ok else { throw DecodingFailure("zlib can't start again") }
    }
}
