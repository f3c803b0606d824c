import Foundation

/// A song's preview: a WAV file of which any byte range can be computed.
struct Preview: Sendable {
    private static let headerLength: Int64 = 44
    private static let bytesPerFrame: Int64 = 4

    private let synthesiser: Synthesiser
    private let header: Data

    init(_ synthesiser: Synthesiser) {
        self.synthesiser = synthesiser
        header = Self.header(frameCount: synthesiser.frameCount)
    }

    /// In bytes.
    var length: Int64 { Self.headerLength + Int64(synthesiser.frameCount) * Self.bytesPerFrame }

    /// The bytes of `range` that the file has.
    func bytes(in range: Range<Int64>) -> Data {
        let range = range.clamped(to: 0..<length)
        var bytes = Data()
        bytes.reserveCapacity(range.count)
        if range.lowerBound < Self.headerLength {
            bytes += header[Int(range.lowerBound)..<Int(min(range.upperBound, Self.headerLength))]
        }
        if range.upperBound > Self.headerLength {
            bytes += samples(in: max(0, range.lowerBound - Self.headerLength)..<range.upperBound - Self.headerLength)
        }
        return bytes
    }

    /// `range` is relative to the first sample.
    private func samples(in range: Range<Int64>) -> Data {
        let firstFrame = range.lowerBound / Self.bytesPerFrame
        let endFrame = (range.upperBound + Self.bytesPerFrame - 1) / Self.bytesPerFrame
        var samples = [Int16](repeating: 0, count: Int(endFrame - firstFrame) * Synthesiser.channels)
        samples.withUnsafeMutableBufferPointer { samples in
            synthesiser.render(from: Int(firstFrame), into: samples)
        }
        let skipped = Int(range.lowerBound - firstFrame * Self.bytesPerFrame)
        return samples.withUnsafeBytes { Data($0[skipped..<skipped + range.count]) }
    }

    /// RIFF, with one `fmt ` chunk for 16-bit PCM and one `data` chunk.
    private static func header(frameCount: Int) -> Data {
        let dataLength = UInt32(frameCount) * UInt32(bytesPerFrame)
        let frameRate = UInt32(Synthesiser.frameRate)
        var header = Data()
        func append(_ text: String) { header += Data(text.utf8) }
        func append(_ number: some FixedWidthInteger) { withUnsafeBytes(of: number.littleEndian) { header += $0 } }
        append("RIFF")
        append(UInt32(headerLength) - 8 + dataLength)
        append("WAVE")
        append("fmt ")
        append(UInt32(16))
        append(UInt16(1))  // PCM
        append(UInt16(Synthesiser.channels))
        append(frameRate)
        append(frameRate * UInt32(bytesPerFrame))
        append(UInt16(bytesPerFrame))
        append(UInt16(16))  // bits per sample
        append("data")
        append(dataLength)
        return header
    }
}
