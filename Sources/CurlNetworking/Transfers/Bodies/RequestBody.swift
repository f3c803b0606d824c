import Foundation

/// A request's body, read as libcurl asks for it. Loop only.
protocol RequestBody: AnyObject {
    /// In bytes; nil if unknown.
    var length: Int64? { get }

    /// Puts the next bytes into `buffer`. Never blocks.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(URLError) -> BodyRead

    /// Continues at `offset`; false if that can't be done.
    func seek(to offset: Int64) -> Bool

    /// Closes its stream or file, on another thread.
    func close()
}

/// What a body has put into the buffer that it was given.
enum BodyRead: Equatable {
    /// The number of bytes; 0 ends the body.
    case bytes(Int)
    /// None yet; the body reports when there are some.
    case notYet
}

final class DataBody: RequestBody {
    private let data: Data
    private var position = 0

    init(_ data: Data) {
        self.data = data
    }

    var length: Int64? { Int64(data.count) }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> BodyRead {
        let start = data.startIndex + position
        let count = data.copyBytes(to: buffer, from: start..<min(start + buffer.count, data.endIndex))
        position += count
        return .bytes(count)
    }

    func seek(to offset: Int64) -> Bool {
        guard (0...Int64(data.count)).contains(offset) else { return false }
        position = Int(offset)
        return true
    }

    func close() {}
}

/// The part of a body that begins at an offset.
final class RemainingBody: RequestBody {
    let length: Int64?
    private let whole: any RequestBody
    private let start: Int64
    private var position: Int64 = 0

    /// Closes `whole` with itself. nil if `whole` can't be read from there.
    ///
    /// - Parameter length: In bytes; nil for everything that follows.
    init?(_ whole: any RequestBody, from start: Int64, length: Int64? = nil) {
        guard whole.seek(to: start) else { return nil }
        (self.whole, self.start) = (whole, start)
        let rest = whole.length.map { $0 - start }
        self.length = length.map { min($0, rest ?? $0) } ?? rest
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(URLError) -> BodyRead {
        let left = length.map { max(0, $0 - position) } ?? .max
        guard left > 0 else { return .bytes(0) }
        let piece = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(Int(clamping: left)))
        let read = try whole.read(into: piece)
        if case .bytes(let count) = read { position += Int64(count) }
        return read
    }

    func seek(to offset: Int64) -> Bool {
        guard offset >= 0, whole.seek(to: start.addingClamped(offset)) else { return false }
        position = offset
        return true
    }

    func close() { whole.close() }
}
