/// Decodes a body that one coding was applied to, or several (RFC 9110 §8.4): fed in pieces, it hands out no more than there is room for, and
/// goes on when there is room again. Each step takes a bounded time, but for `mayTakeLong`. One thread at a time.
package final class ContentDecoder {
    /// What a step has done.
    package struct Step: Sendable, Equatable {
        /// Bytes of the input, and of the output.
        package var consumed = 0
        package var produced = 0
        /// Bytes that all codings have taken and given: what it cost.
        package var work = 0
        /// Another step can do something without more input than there was.
        package var hasMore = false
    }

    /// The first to decode comes first.
    private var links: [Link]
    private var isLong: Bool?

    /// In bytes: what one coding takes in one step, and hands on to the next.
    static let pieceSize = 16 * 1024
    /// What a call costs that moves nothing, beside what a byte costs.
    private static let callWork = 64
    /// What a brotli window may have for its steps to be short.
    private static let longWindow = 1 << 20

    private struct Link {
        let coding: ContentCoding
        let stage: any DecodingStage
        /// What the one before has decoded.
        var input: Piece
        var hasBegun = false
        /// It had no room for all it had.
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

    /// Decodes what it can from `input`, whose rest it is to be given again, into `output`, which has room for 64 bytes at least.
    package func decode(
        _ input: UnsafeRawBufferPointer,
        into output: UnsafeMutableRawBufferPointer
    ) throws(ContentDecodingError) -> Step {
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

    private func decode(
        _ input: UnsafeRawBufferPointer,
        into output: UnsafeMutableRawBufferPointer,
        at index: Int
    ) throws(ContentDecodingError) -> (consumed: Int, produced: Int) {
        let link = links[index]
        do throws(DecodingFailure) {
            let (consumed, produced) = try link.stage.decode(input, into: output)
            if !input.isEmpty, consumed == 0, produced == 0, !link.isFull { throw DecodingFailure("it leads nowhere") }
            links[index].isFull = produced == output.count
            if consumed > 0 { links[index].hasBegun = true }
            return (consumed, produced)
        } catch {
            throw ContentDecodingError(coding: link.coding, reason: .damaged(error.text))
        }
    }

    /// The body has ended, and has been decoded. Fails where its coding has not; a body of no bytes is complete in every coding.
    package func finish() throws(ContentDecodingError) {
        for link in links where link.hasBegun && !link.stage.isComplete {
            throw ContentDecodingError(coding: link.coding, reason: .incomplete)
        }
    }

    /// Whether a step may take so long that a thread on which others wait is no place for it: brotli decodes a whole window before it hands
    /// anything out, which a few bytes of a hostile body can have take a tenth of a second. `input` is what comes next.
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
