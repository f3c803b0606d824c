import Foundation

/// Small bodies that decode to large ones.
package enum Bombs {
    /// Brotli with a window of 16 MiB, and the bytes that cost it most: each command copies two, and none takes a bit. Another 16 MiB of
    /// them take some 13 bytes.
    package static func brotli(mebibytes: Int) -> (coded: Data, length: Int64) {
        var bits = BitWriter()
        bits.put(0b1111, 4)  // the window
        bits.put(0, 1 + 2)  // not the last, its length in four nibbles
        bits.put(15, 16)
        bits.put(1, 1)  // uncompressed
        bits.put(Data("abcdefghijklmnop".utf8))
        let count = mebibytes / 16
        for _ in 0..<count {
            bits.put(0, 1)  // not the last
            bits.put(2, 2)  // its length in six nibbles
            bits.put(1 << 24 - 1, 24)
            bits.put(0, 1)  // compressed
            bits.put(0, 3 + 2 + 4 + 2 + 2)  // one block type of each kind, one context
            for (symbol, width) in [(97, 8), (0, 10), (0, 6)] {
                bits.put(1, 2 + 2)  // one symbol, which takes no bits
                bits.put(symbol, width)
            }
        }
        bits.put(0b11, 2)  // the last, and empty
        return (bits.data, Int64(count) << 24 + 16)
    }

    /// zstd: 4 bytes for each 128 KiB.
    package static func zstd(mebibytes: Int) -> (coded: Data, length: Int64) {
        var coded = Data([0x28, 0xB5, 0x2F, 0xFD, 0x00, 0x58])  // a window of 2 MiB
        let count = mebibytes * 8
        for index in 0..<count {
            let head = (index + 1 == count ? 1 : 0) | 1 << 1 | 128 * 1024 << 3
            coded.append(contentsOf: [UInt8(head & 0xFF), UInt8(head >> 8 & 0xFF), UInt8(head >> 16), 0])
        }
        return (coded, Int64(mebibytes) << 20)
    }

    /// gzip, twice: 64 MiB of zeros in 269 bytes.
    package static let doublyZipped = (coded: CodedBodies.doublyZippedZeros, length: Int64(64) << 20)
}

/// gzip without compression.
package func storedGzip(_ content: Data) -> Data {
    var coded = Data([0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF])
    var rest = content[...]
    repeat {
        let piece = rest.prefix(65_535)
        rest = rest.dropFirst(65_535)
        coded.append(rest.isEmpty ? 1 : 0)
        let length = UInt16(piece.count)
        for number in [length, ~length] { coded.append(contentsOf: [UInt8(number & 0xFF), UInt8(number >> 8)]) }
        coded.append(piece)
    } while !rest.isEmpty
    for number in [checksum(content), UInt32(truncatingIfNeeded: content.count)] {
        for shift in [0, 8, 16, 24] { coded.append(UInt8(truncatingIfNeeded: number >> UInt32(shift))) }
    }
    return coded
}

/// CRC-32 (RFC 1952 §8).
private func checksum(_ bytes: Data) -> UInt32 {
    var value = UInt32.max
    for byte in bytes {
        value ^= UInt32(byte)
        for _ in 0..<8 { value = value & 1 == 1 ? value >> 1 ^ 0xEDB8_8320 : value >> 1 }
    }
    return ~value
}

/// Least significant bits first (RFC 7932 §1.5.1).
private struct BitWriter {
    private(set) var data = Data()
    private var used = 8

    mutating func put(_ value: Int, _ width: Int) {
        for bit in 0..<width {
            if used == 8 {
                data.append(0)
                used = 0
            }
            if value >> bit & 1 == 1 { data[data.count - 1] |= 1 << used }
            used += 1
        }
    }

    /// Whole bytes.
    mutating func put(_ bytes: Data) {
        data.append(bytes)
        used = 8
    }
}
