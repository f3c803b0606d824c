import Dispatch

/// Something that takes turns on a loop: a body to be decoded, or messages to be compressed or inflated.
package protocol DecodingTurn: AnyObject {
    /// Takes at most one step, or as many as time allows, and asks for another turn if there is more. On the loop, outside of libcurl.
    func takeTurn()
}

/// Shares a loop's time among the bodies decoded on it, and the messages compressed and inflated: together they do at most `workPerRound`
/// per round before the loop serves anything else. Loop only.
///
/// `@unchecked Sendable`: everything is touched only on the loop.
package final class DecodingTurns: LoopWork, @unchecked Sendable {
    private unowned let loop: EventLoop
    /// nil for an element that has had its turn: the slice keeps its memory for longer.
    private var waiting: ArraySlice<(any DecodingTurn)?> = []
    private var isScheduled = false
    private var round = MonotonicTime(nanoseconds: 0)
    /// The work done in this round, in bytes.
    private var work = 0

    /// In bytes consumed and produced by decoders: well below 5 ms, even for the most expensive data.
    package static let workPerRound = 512 * 1024

    /// Scratch space for one step's output; nothing stays in it.
    package let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 32 * 1024, alignment: 16)

    /// For steps that may take long. Dispatch's global queues can't be relied on here: a program can block all of their threads waiting for
    /// the very data to be decoded.
    private static let queues = (0..<4).map { DispatchQueue(label: "CurlNetworking.decoding.\($0)") }
    private var nextQueue = 0

    init(on loop: EventLoop) {
        self.loop = loop
    }

    deinit {
        buffer.deallocate()
    }

    /// Whether this round has time for another step.
    package var hasTimeLeft: Bool {
        if round != loop.now {
            round = loop.now
            work = 0
        }
        return work < Self.workPerRound
    }

    /// Counts the cost of a step, in bytes.
    package func spend(_ work: Int) {
        self.work += work
    }

    /// The queue for a body whose steps may take long. The process has a few, assigned in turn.
    package func assignQueue() -> DispatchQueue {
        defer { nextQueue = (nextQueue + 1) % Self.queues.count }
        return Self.queues[nextQueue]
    }

    /// Gives `turn` a step in a later round, after all turns requested before it.
    package func enqueue(_ turn: any DecodingTurn) {
        waiting.append(turn)
        schedule()
    }

    private func schedule() {
        guard !isScheduled else { return }
        isScheduled = true
        loop.submit(self)
    }

    package func run(on loop: EventLoop) {
        isScheduled = false
        // A body that asks for another turn meanwhile gets it in this round only if there is time.
        while hasTimeLeft, let turn = takeFirst() { turn.takeTurn() }
        if !waiting.isEmpty { schedule() }
    }

    private func takeFirst() -> (any DecodingTurn)? {
        guard !waiting.isEmpty else { return nil }
        let turn = waiting[waiting.startIndex].take()
        waiting.removeFirst()
        return turn
    }
}
