import Foundation

/// Pseudo-random bytes that depend only on seed and offset, so that any part of a body of any length can be made, and
/// checked, without the rest.
///
/// A body is a sequence of 4 KiB blocks. Each starts with a word that is different for every block and continues with a
/// piece of one fixed table of random bytes, so nearly all the work is `memcpy`, fast even in a debug build.
package enum GeneratedBody {
    private static let blockSize: Int64 = 4096
    private static let wordSize: Int64 = 8
    private static let tableSize = 1 << 18

    private static let table: [UInt8] = {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(tableSize)
        for index in 0..<UInt64(tableSize / 8) {
            withUnsafeBytes(of: mixed(index).littleEndian) { bytes.append(contentsOf: $0) }
        }
        return bytes
    }()

    /// The bytes of `range` of the body with this seed.
    package static func bytes(seed: UInt64, range: Range<Int64>) -> Data {
        guard !range.isEmpty else { return Data() }
        var data = Data(count: range.count)
        data.withUnsafeMutableBytes { fill($0, seed: seed, from: range.lowerBound) }
        return data
    }

    /// The whole body of this seed and length.
    package static func bytes(seed: UInt64, length: Int) -> Data {
        bytes(seed: seed, range: 0..<Int64(length))
    }

    /// Fills `buffer` with the bytes that start at `offset`.
    package static func fill(_ buffer: UnsafeMutableRawBufferPointer, seed: UInt64, from offset: Int64) {
        table.withUnsafeBytes { table in
            var offset = offset
            var rest = buffer[...]
            while !rest.isEmpty {
                let (block, start) = offset.quotientAndRemainder(dividingBy: blockSize)
                let count = Int(min(Int64(rest.count), blockSize - start))
                fill(UnsafeMutableRawBufferPointer(rebasing: rest.prefix(count)), seed, UInt64(block), start, table)
                rest = rest.dropFirst(count)
                offset += Int64(count)
            }
        }
    }

    /// Fills `buffer`, which lies within one block.
    private static func fill(
        _ buffer: UnsafeMutableRawBufferPointer,
        _ seed: UInt64,
        _ block: UInt64,
        _ start: Int64,
        _ table: UnsafeRawBufferPointer
    ) {
        let word = mixed(seed &+ block &* 0x9E37_79B9_7F4A_7C15)
        let origin = Int(word >> 32) % (tableSize - Int(blockSize)) + Int(start)
        buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: table[origin..<origin + buffer.count]))
        guard start < wordSize else { return }
        withUnsafeBytes(of: word.littleEndian) { bytes in
            let head = bytes[Int(start)...].prefix(buffer.count)
            buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: head))
        }
    }

    /// The finaliser of SplitMix64.
    private static func mixed(_ value: UInt64) -> UInt64 {
        var word = value &+ 0x9E37_79B9_7F4A_7C15
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }
}
