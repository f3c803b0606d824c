import Dispatch

/// A body that waits for its turn to be decoded on a loop.
package protocol DecodingTurn: AnyObject {
    /// Decodes some, in no more than one step, and asks for another turn where there is more. On the loop, outside of libcurl.
    func decode()
}

/// Shares a loop's time among the bodies that are decoded on it: together they do no more than `workPerRound` in a round, and then the loop
/// serves the others first. Loop only.
///
/// `@unchecked Sendable`: everything is touched on the loop alone.
package final class DecodingTurns: LoopWork, @unchecked Sendable {
    private unowned let loop: EventLoop
    private var waiting: ArraySlice<any DecodingTurn> = []
    private var isComing = false
    private var round = MonotonicTime(nanoseconds: 0)
    /// Of this round.
    private var work = 0

    /// In bytes that decoders take and give: well below 5 ms, even of such as cost most.
    package static let workPerRound = 512 * 1024

    /// What a step decodes goes here first; nobody keeps anything in it.
    package let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 32 * 1024, alignment: 16)

    /// For steps that may take long. Serial, since those of Dispatch's global queue are no threads to rely on: a program can block all of them
    /// waiting for what is to be decoded.
    private static let queues = (0..<4).map { DispatchQueue(label: "CurlNetworking.decoding.\($0)") }
    private var nextQueue = 0

    init(on loop: EventLoop) {
        self.loop = loop
    }

    deinit {
        buffer.deallocate()
    }

    /// Whether another step may be done in this round.
    package var hasTimeLeft: Bool {
        if round != loop.now {
            round = loop.now
            work = 0
        }
        return work < Self.workPerRound
    }

    /// A step has cost so much.
    package func spend(_ work: Int) {
        self.work += work
    }

    /// Where a body whose steps may take long is decoded: bodies take turns on the queues, which are the process's.
    package func assignQueue() -> DispatchQueue {
        defer { nextQueue = (nextQueue + 1) % Self.queues.count }
        return Self.queues[nextQueue]
    }

    /// Has `turn` decode some in a later round, after all that asked before it.
    package func enqueue(_ turn: any DecodingTurn) {
        waiting.append(turn)
        comeSoon()
    }

    private func comeSoon() {
        guard !isComing else { return }
        isComing = true
        loop.submit(self)
    }

    package func run(on loop: EventLoop) {
        isComing = false
        // Those who ask for another turn meanwhile get it in this round only if there is time.
        while hasTimeLeft, let turn = waiting.popFirst() { turn.decode() }
        if !waiting.isEmpty { comeSoon() }
    }
}
