import Foundation

/// The steps of one answer that are still to be done. Knows nothing of sockets.
///
/// Bytes are copied out with `copy` and removed with `sent`, which may be fewer: what the socket didn't take is produced
/// again next time, so nothing is kept between two sends.
struct Script {
    /// Last step first.
    private var steps: [LoopbackServer.Step]
    /// How much of the first step's payload has been sent.
    private var offset: Int64 = 0

    init(_ steps: [LoopbackServer.Step] = []) {
        self.steps = steps.reversed()
    }

    var isFinished: Bool { steps.isEmpty }

    /// Puts a step before all others. Not while a payload is half sent.
    mutating func putBack(_ step: LoopbackServer.Step) {
        steps.append(step)
    }

    /// Adds steps after all others.
    mutating func append(_ following: [LoopbackServer.Step]) {
        if steps.isEmpty {
            steps = following.reversed()
        } else {
            steps.insert(contentsOf: following.reversed(), at: 0)
        }
    }

    /// Removes the first step, unless it sends bytes. Also nil if none is left.
    mutating func takeAction() -> LoopbackServer.Step? {
        while let first = steps.last {
            if case .chunks(let body, let size) = first {
                steps.removeLast()
                expand(body, size)
            } else if let payload = first.payload {
                if offset < payload.length { return nil }
                steps.removeLast()
                offset = 0
            } else {
                return steps.removeLast()
            }
        }
        return nil
    }

    /// Puts the first chunk, followed by the rest, where the body's step was.
    private mutating func expand(_ body: LoopbackServer.Body, _ size: Int64) {
        guard body.length > 0 else { return }
        let first = body[0..<max(1, size)]
        steps.append(.chunks(body[first.length..<body.length], size: size))
        steps.append(.bytes("\r\n"))
        steps.append(.body(first))
        steps.append(.bytes(String(first.length, radix: 16) + "\r\n"))
    }

    /// Writes the bytes that are next to be sent to `buffer`, across steps, up to the next step that sends none.
    func copy(to buffer: UnsafeMutableRawBufferPointer) -> Int {
        var filled = 0
        var offset = offset
        for step in steps.reversed() {
            guard filled < buffer.count, let payload = step.payload else { break }
            filled += payload.copy(from: offset, to: UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]))
            offset = 0
        }
        return filled
    }

    /// Removes what the socket has taken.
    mutating func sent(_ count: Int) {
        offset += Int64(count)
        while let payload = steps.last?.payload, offset >= payload.length {
            offset -= payload.length
            steps.removeLast()
        }
    }
}
