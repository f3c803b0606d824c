/// Where a stage is in coded data that may consist of several members, one after the other.
enum MemberPosition {
    case within
    /// A member is complete.
    case between(MemberBoundary)
    /// The last member is complete: the rest is dropped.
    case over
}

/// A stage for such data. It decodes a member; where one ends and another begins is the same for all.
protocol MemberStage: DecodingStage {
    var position: MemberPosition { get set }

    /// As with `decode`, for bytes of a member. Sets the position at its end.
    func decodeMember(
        _ input: UnsafeRawBufferPointer,
        into output: UnsafeMutableRawBufferPointer
    ) throws(DecodingFailure) -> (consumed: Int, produced: Int)

    /// Another member begins.
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

    /// For bytes that were kept back.
    func decodeMember(
        pieces bytes: [UInt8],
        into output: UnsafeMutableRawBufferPointer
    ) throws(DecodingFailure) -> (consumed: Int, produced: Int) {
        try bytes.withUnsafeBytes { bytes in
            Result { () throws(DecodingFailure) in try decodeMember(bytes, into: output) }
        }.get()
    }
}
