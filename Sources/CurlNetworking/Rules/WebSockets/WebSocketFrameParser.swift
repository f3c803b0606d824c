/// Splits a server's bytes into frames, in whatever pieces they arrive (RFC 6455 §5.2). Keeps no payload.
struct WebSocketFrameParser {
    enum Element {
        case header(WebSocketFrameHeader)
        /// Some of the payload; at least one byte.
        case payload(UnsafeRawBufferPointer)
        /// The frame is complete.
        case end
    }

    private enum State {
        case header
        /// How many bytes of the payload are still to come.
        case payload(Int)
    }

    /// Whether the peer may set the first reserved bit.
    private let allowsCompression: Bool
    private var state = State.header
    /// The header's bytes so far; the first ones are in the lowest bits.
    private var headerBytes: (UInt64, UInt64) = (0, 0)
    private var headerCount = 0

    init(allowsCompression: Bool) {
        self.allowsCompression = allowsCompression
    }

    /// How many bytes of the frame's payload are still to come.
    var missingCount: Int {
        if case .payload(let missing) = state { missing } else { 0 }
    }

    /// Takes the next element off the beginning of `input`; nil if more is needed, and then `input` is empty.
    mutating func next(_ input: inout UnsafeRawBufferPointer) throws(WebSocketViolation) -> Element? {
        switch state {
        case .header:
            while let byte = input.first {
                input = UnsafeRawBufferPointer(rebasing: input.dropFirst())
                append(byte)
                if let header = try header() {
                    (headerBytes, headerCount) = ((0, 0), 0)
                    state = .payload(header.length)
                    return .header(header)
                }
            }
            return nil
        case .payload(0):
            state = .header
            return .end
        case .payload(let missing):
            guard !input.isEmpty else { return nil }
            let piece = UnsafeRawBufferPointer(rebasing: input.prefix(missing))
            input = UnsafeRawBufferPointer(rebasing: input.dropFirst(piece.count))
            state = .payload(missing - piece.count)
            return .payload(piece)
        }
    }

    private mutating func append(_ byte: UInt8) {
        if headerCount < 8 {
            headerBytes.0 |= UInt64(byte) << (8 * UInt64(headerCount))
        } else {
            headerBytes.1 |= UInt64(byte) << (8 * UInt64(headerCount - 8))
        }
        headerCount += 1
    }

    private func byte(_ index: Int) -> UInt8 {
        let word = index < 8 ? headerBytes.0 : headerBytes.1
        return UInt8(truncatingIfNeeded: word >> (8 * UInt64(index % 8)))
    }

    /// nil if it isn't complete. An error in the first bytes is reported before the others arrive.
    private func header() throws(WebSocketViolation) -> WebSocketFrameHeader? {
        let first = byte(0)
        guard let opcode = WebSocketFrameHeader.Opcode(rawValue: first & 0x0F) else {
            throw WebSocketViolation(.protocolError, "A frame has the reserved opcode \(first & 0x0F).")
        }
        let isCompressed = first & 0x40 != 0
        let mayBeCompressed = allowsCompression && (opcode == .text || opcode == .binary)
        guard first & 0x30 == 0, !isCompressed || mayBeCompressed else {
            throw WebSocketViolation(.protocolError, "A frame has a reserved bit that was not negotiated.")
        }
        let isFinal = first & 0x80 != 0
        guard isFinal || !opcode.isControl else {
            throw WebSocketViolation(.protocolError, "A control frame is fragmented.")
        }
        guard headerCount >= 2 else { return nil }
        guard byte(1) & 0x80 == 0 else { throw WebSocketViolation(.protocolError, "The server has masked a frame.") }
        guard let length = try length(isControl: opcode.isControl) else { return nil }
        return WebSocketFrameHeader(opcode: opcode, isFinal: isFinal, isCompressed: isCompressed, length: length)
    }

    private func length(isControl: Bool) throws(WebSocketViolation) -> Int? {
        let short = Int(byte(1) & 0x7F)
        guard short > WebSocketFrameHeader.maximumControlPayload else { return short }
        guard !isControl else { throw WebSocketViolation(.protocolError, "A control frame is longer than 125 bytes.") }
        let size = short == 126 ? 2 : 8
        guard headerCount == 2 + size else { return nil }
        var length: UInt64 = 0
        for index in 2..<(2 + size) { length = length << 8 | UInt64(byte(index)) }
        guard length > (size == 2 ? 125 : 0xFFFF), let length = Int(exactly: length) else {
            throw WebSocketViolation(.protocolError, "A frame's length is not written as it has to be.")
        }
        return length
    }
}
