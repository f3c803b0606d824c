/// Decodes a body with one or more content codings (RFC 9110 §8.4), or copies one without any. It is fed in pieces, produces no more than
/// there is room for, and continues when there is room again. Each step takes a bounded time, except as `mayTakeLong` says. One thread at a
/// time.
package final class ContentDecoder {
    package struct Step: Sendable, Equatable {
        /// Bytes of input consumed, and of output produced.
        package var consumed = 0
        package var produced = 0
        /// The step's cost: the bytes that all codings have consumed and produced.
        package var work = 0
        /// Whether another step can make progress without more input.
        package var hasMore = false
    }

    /// In the order of decoding.
    private var links: [Link]
    private var isLong: Bool?

    /// In bytes: the most that one coding decodes in one step and hands to the next.
    static let pieceSize = 16 * 1024
    /// The cost of a call that moves nothing, in bytes: a body can consist of empty 20-byte members, each of which takes as long as a
    /// thousand bytes.
    static let callWork = 1024
    /// The largest brotli window for which steps are short, in bytes.
    private static let longWindow = 1 << 20

    private struct Link {
        let coding: ContentCoding
        let stage: any DecodingStage
        /// The previous coding's output.
        var input: Piece
        var hasBegun = false
        /// Whether the output had no room for everything.
        var isFull = false
    }

    /// `codings` in the order in which they were applied, which is the order of `Content-Encoding`.
    package init(_ codings: [ContentCoding]) throws(ContentDecodingError) {
        links = []
        for coding in codings.reversed() {
            guard let stage = coding.makeStage() else {
                throw ContentDecodingError(coding: coding, reason: .outOfMemory)
            }
            let piece = links.isEmpty ? Piece(capacity: 0) : Piece(capacity: Self.pieceSize)
            links.append(Link(coding: coding, stage: stage, input: piece))
        }
    }

    /// Decodes as much of `input` as it can into `output`, which has room for at least 64 bytes. The caller passes the rest of `input`
    /// again.
    package func decode(
        _ input: UnsafeRawBufferPointer,
        into output: UnsafeMutableRawBufferPointer
    ) throws(ContentDecodingError) -> Step {
        if links.isEmpty { return Self.copy(input, into: output) }
        var step = Step()
        for index in links.indices {
            let isFirst = index == links.startIndex
            let isLast = index + 1 == links.endIndex
            if !isLast, !links[index + 1].input.isEmpty { continue }
            let source =
                isFirst ? UnsafeRawBufferPointer(rebasing: input.prefix(Self.pieceSize)) : links[index].input.bytes
            if source.isEmpty && !links[index].isFull { continue }
            let target = isLast ? output : links[index + 1].input.memory
            let (consumed, produced) = try decode(source, into: target, at: index)
            step.work += consumed + produced + Self.callWork
            if isFirst { step.consumed = consumed } else { links[index].input.drop(consumed) }
            if isLast { step.produced = produced } else { links[index + 1].input.fill(produced) }
        }
        step.hasMore = step.consumed < input.count || links.contains { $0.isFull || !$0.input.isEmpty }
        return step
    }

    private static func copy(_ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> Step {
        let count = min(input.count, output.count)
        output.copyMemory(from: UnsafeRawBufferPointer(rebasing: input.prefix(count)))
        return Step(consumed: count, produced: count, work: 2 * count + callWork, hasMore: count < input.count)
    }

    private func decode(
        _ input: UnsafeRawBufferPointer,
        into output: UnsafeMutableRawBufferPointer,
        at index: Int
    ) throws(ContentDecodingError) -> (consumed: Int, produced: Int) {
        let link = links[index]
        do throws(DecodingFailure) {
            let (consumed, produced) = try link.stage.decode(input, into: output)
            if !input.isEmpty, consumed == 0, produced == 0, !link.isFull { throw DecodingFailure("it is stuck") }
            links[index].isFull = produced == output.count
            if consumed > 0 { links[index].hasBegun = true }
            return (consumed, produced)
        } catch {
            throw ContentDecodingError(coding: link.coding, reason: .damaged(error.text))
        }
    }

    /// Called at the end of the body. Throws if a coding is incomplete; an empty body is complete in every coding.
    package func finish() throws(ContentDecodingError) {
        for link in links where link.hasBegun && !link.stage.isComplete {
            throw ContentDecodingError(coding: link.coding, reason: .incomplete)
        }
    }

    /// Whether a step may take too long for a shared thread: brotli decodes a whole window before it outputs anything, so a few bytes of a
    /// hostile body can cost a tenth of a second. `input` is decoded next.
    package func mayTakeLong(before input: UnsafeRawBufferPointer) -> Bool {
        if let isLong { return isLong }
        guard let byte = input.first else { return false }
        let isFirstLong = links.first?.coding == .brotli && BrotliStage.windowSize(first: byte) > Self.longWindow
        let isLong = isFirstLong || links.dropFirst().contains { $0.coding == .brotli }
        self.isLong = isLong
        return isLong
    }
}

/// Bytes on their way from one coding to the next.
private final class Piece {
    let memory: UnsafeMutableRawBufferPointer
    private var range = 0..<0

    init(capacity: Int) {
        memory = .allocate(byteCount: capacity, alignment: 16)
    }

    deinit {
        memory.deallocate()
    }

    var isEmpty: Bool { range.isEmpty }
    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory[range]) }

    func fill(_ count: Int) {
        range = 0..<count
    }

    func drop(_ count: Int) {
        range = range.lowerBound + count..<range.upperBound
    }
}
