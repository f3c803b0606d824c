/// A stage's position in coded data that may consist of several consecutive members.
enum MemberPosition {
    case within
    /// A member is complete.
    case between(MemberBoundary)
    /// The last member is complete: the rest is dropped.
    case over
}

/// A stage for such data. It decodes single members; finding where they begin and end is common to all stages.
protocol MemberStage: DecodingStage {
    var position: MemberPosition { get set }

    /// Like `decode`, for the bytes of one member. Sets `position` at its end.
    func decodeMember(
        _ input: UnsafeRawBufferPointer,
        into output: UnsafeMutableRawBufferPointer
    ) throws(DecodingFailure) -> (consumed: Int, produced: Int)

    func beginMember() throws(DecodingFailure)
}

extension MemberStage {
    var isComplete: Bool { if case .within = position { false } else { true } }

    func decode(
        _ input: UnsafeRawBufferPointer,
        into output: UnsafeMutableRawBufferPointer
    ) throws(DecodingFailure) -> (consumed: Int, produced: Int) {
        switch position {
        case .within: try decodeMember(input, into: output)
        case .between(let boundary): try findMember(after: boundary, in: input, into: output)
        case .over: (input.count, 0)
        }
    }

    private func findMember(
        after boundary: MemberBoundary,
        in input: UnsafeRawBufferPointer,
        into output: UnsafeMutableRawBufferPointer
    ) throws(DecodingFailure) -> (consumed: Int, produced: Int) {
        var boundary = boundary
        switch boundary.feed(input) {
        case .undecided: position = .between(boundary)
        case .other: position = .over
        case .member(let end):
            try beginMember()
            position = .within
            // The start of a member's header: it produces no output.
            return (end, try decodeMember(pieces: boundary.bytes, into: output).produced)
        }
        return (input.count, 0)
    }

    /// Decodes bytes that were held back.
    func decodeMember(
        pieces bytes: [UInt8],
        into output: UnsafeMutableRawBufferPointer
    ) throws(DecodingFailure) -> (consumed: Int, produced: Int) {
        try bytes.withUnsafeBytes { bytes in
            Result { () throws(DecodingFailure) in try decodeMember(bytes, into: output) }
        }.get()
    }
}
