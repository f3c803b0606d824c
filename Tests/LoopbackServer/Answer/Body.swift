import Foundation

extension LoopbackServer {
    /// A response body of known length, whose bytes can be produced from any offset, at most a buffer of them at a time.
    package struct Body: Sendable {
        private enum Source: Sendable {
            case data(Data)
            case generated(seed: UInt64)
            case produced(@Sendable (Range<Int64>) -> Data)
        }

        package let length: Int64
        private let source: Source
        /// Where in the source this body starts.
        private let origin: Int64

        package static func data(_ data: Data) -> Body {
            Body(length: Int64(data.count), source: .data(data), origin: 0)
        }

        package static func text(_ text: String) -> Body {
            .data(Data(text.utf8))
        }

        /// `GeneratedBody`'s bytes.
        package static func generated(length: Int64, seed: UInt64 = 0) -> Body {
            Body(length: length, source: .generated(seed: seed), origin: 0)
        }

        /// Bytes made on demand.
        ///
        /// - Parameter produce: Called on the server's loop, with ranges of up to 256 KiB, and again with the same range
        ///   when the client was slow to take it. If it returns too few bytes, zeros follow.
        package static func produced(length: Int64, _ produce: @escaping @Sendable (Range<Int64>) -> Data) -> Body {
            Body(length: length, source: .produced(produce), origin: 0)
        }

        /// A part, itself a body.
        package subscript(range: Range<Int64>) -> Body {
            let range = range.clamped(to: 0..<length)
            return Body(length: range.upperBound - range.lowerBound, source: source, origin: origin + range.lowerBound)
        }

        /// Writes what starts at `offset` to the beginning of `buffer`, and returns how many bytes that is.
        func copy(from offset: Int64, to buffer: UnsafeMutableRawBufferPointer) -> Int {
            let count = Int(min(length - offset, Int64(buffer.count)))
            guard count > 0 else { return 0 }
            let target = UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
            let start = origin + offset
            switch source {
            case .data(let data):
                data.withUnsafeBytes { target.copyMemory(from: $0.part(Int(start)..<Int(start) + count)) }
            case .generated(let seed):
                GeneratedBody.fill(target, seed: seed, from: start)
            case .produced(let produce):
                let copied = produce(start..<start + Int64(count)).prefix(count).copyBytes(to: target)
                for index in copied..<count { target[index] = 0 }
            }
            return count
        }
    }
}
