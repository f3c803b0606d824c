import Glibc

/// Writes a client's frames, masked (RFC 6455 §5.3).
enum WebSocketFrameWriter {
    /// How many bytes the frame takes.
    static func size(of header: WebSocketFrameHeader) -> Int {
        header.length + headerSize(header.length)
    }

    private static func headerSize(_ length: Int) -> Int {
        let lengthSize = length <= 125 ? 0 : length <= 0xFFFF ? 2 : 8
        return 2 + lengthSize + 4
    }

    /// Writes the frame to `buffer`, which has its size. `payload` has the header's length.
    static func write(
        _ header: WebSocketFrameHeader,
        _ payload: UnsafeRawBufferPointer,
        mask: UInt32,
        to buffer: UnsafeMutableRawBufferPointer
    ) {
        buffer[0] = (header.isFinal ? 0x80 : 0) | (header.isCompressed ? 0x40 : 0) | header.opcode.rawValue
        let headerSize = headerSize(header.length)
        switch headerSize {
        case 6:
            buffer[1] = 0x80 | UInt8(header.length)
        case 8:
            buffer[1] = 0x80 | 126
            buffer.storeBytes(of: UInt16(header.length).bigEndian, toByteOffset: 2, as: UInt16.self)
        default:
            buffer[1] = 0x80 | 127
            buffer.storeBytes(of: UInt64(header.length).bigEndian, toByteOffset: 2, as: UInt64.self)
        }
        // The key's first byte on the wire is its lowest in memory, whatever the machine's order.
        buffer.storeBytes(of: mask, toByteOffset: headerSize - 4, as: UInt32.self)
        Self.mask(payload, with: mask, to: UnsafeMutableRawBufferPointer(rebasing: buffer[headerSize...]))
    }

    /// Copies `source` to `target`, which has the same size, and masks it on the way, eight bytes at a time.
    static func mask(
        _ source: UnsafeRawBufferPointer,
        with key: UInt32,
        to target: UnsafeMutableRawBufferPointer
    ) {
        let wideKey = UInt64(key) | UInt64(key) << 32
        let words = source.count / 8
        for word in 0..<words {
            let value = source.loadUnaligned(fromByteOffset: 8 * word, as: UInt64.self)
            target.storeBytes(of: value ^ wideKey, toByteOffset: 8 * word, as: UInt64.self)
        }
        withUnsafeBytes(of: key) { key in
            for index in (8 * words)..<source.count { target[index] = source[index] ^ key[index & 3] }
        }
    }
}

/// Unpredictable masking keys (RFC 6455 §10.3), fetched from the system several at a time.
struct WebSocketMaskingKeys {
    private var keys: [UInt32] = []

    mutating func next() -> UInt32 {
        if let key = keys.popLast() { return key }
        keys = [UInt32](unsafeUninitializedCapacity: Self.fetchedAtOnce) { buffer, count in
            let size = Self.fetchedAtOnce * MemoryLayout<UInt32>.size
            count = getentropy(buffer.baseAddress, size) == 0 ? Self.fetchedAtOnce : 0
        }
        return keys.popLast() ?? .random(in: .min ... .max)
    }

    /// The system returns at most 256 bytes at once.
    private static let fetchedAtOnce = 64
}
