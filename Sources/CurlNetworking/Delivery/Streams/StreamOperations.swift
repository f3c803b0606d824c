import Foundation

/// What a stream task is to do and hasn't begun. A value.
///
/// Reads follow each other, and so do writes, but a read holds up no write and no write a read. A transition waits for everything before it, and
/// everything after waits for it.
struct StreamOperations<Reader, Writer> {
    /// What happens to the connection between reads and writes.
    enum Transition: Sendable {
        case startTLS
        case stopTLS
        case capture
    }

    struct Read {
        let minimum: Int
        let maximum: Int
        /// nil for none.
        let timeout: Duration?
        let reader: Reader
        /// What has come for it.
        var bytes = Data()
    }

    struct Write {
        let data: Data
        /// nil for none.
        let timeout: Duration?
        let writer: Writer
        /// How much of the data is written.
        var count = 0
    }

    enum Operation {
        case read(Read)
        case closeRead
        case write(Write)
        case closeWrite
        case transition(Transition)
    }

    private var reads = Fifo<Operation>()
    private var writes = Fifo<Operation>()
    /// A transition, and what came after it.
    private var waiting = Fifo<Operation>()

    var hasReads: Bool { !reads.isEmpty }
    var hasWrites: Bool { !writes.isEmpty }

    /// What has its turn after all reads and writes so far.
    var transition: Transition? {
        if case .transition(let transition) = waiting.first { transition } else { nil }
    }

    mutating func append(_ operation: Operation) {
        waiting.append(operation)
        sort()
    }

    /// `.read` or `.closeRead`; nil for none whose turn it may be.
    mutating func takeRead() -> Operation? { reads.popFirst() }

    /// `.write` or `.closeWrite`; nil for none whose turn it may be.
    mutating func takeWrite() -> Operation? { writes.popFirst() }

    /// `transition` has begun, or never will.
    mutating func removeTransition() {
        guard transition != nil else { return }
        _ = waiting.popFirst()
        sort()
    }

    mutating func removeAll() -> [Operation] {
        var all: [Operation] = []
        for var queue in [reads, writes, waiting] {
            while let operation = queue.popFirst() { all.append(operation) }
        }
        self = Self()
        return all
    }

    /// Has operations take their turn that needn't wait for a transition.
    private mutating func sort() {
        while let operation = waiting.first {
            switch operation {
            case .read, .closeRead: reads.append(operation)
            case .write, .closeWrite: writes.append(operation)
            case .transition: return
            }
            _ = waiting.popFirst()
        }
    }
}
