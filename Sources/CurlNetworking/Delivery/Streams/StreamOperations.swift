import Foundation

/// Operations of a stream task that haven't begun. A value.
///
/// Reads are carried out one after the other, and so are writes, but neither waits for the other. A transition waits for everything
/// before it, and everything after it waits for the transition.
struct StreamOperations<Reader, Writer> {
    /// A change of the connection between reads and writes.
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
        /// Whether the reader can be given bytes together with a failure.
        let takesBytesOnFailure: Bool
        /// The bytes that have arrived for it.
        var bytes = Data()
    }

    struct Write {
        let data: Data
        /// nil for none.
        let timeout: Duration?
        let writer: Writer
        /// How many bytes of the data are written.
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
    /// A transition, and the operations after it.
    private var waiting = Fifo<Operation>()

    var hasReads: Bool { !reads.isEmpty }
    var hasWrites: Bool { !writes.isEmpty }

    /// The transition to begin once all reads and writes before it are done.
    var transition: Transition? {
        if case .transition(let transition) = waiting.first { transition } else { nil }
    }

    mutating func append(_ operation: Operation) {
        waiting.append(operation)
        sort()
    }

    /// `.read` or `.closeRead`; nil if none may begin.
    mutating func takeRead() -> Operation? { reads.popFirst() }

    /// `.write` or `.closeWrite`; nil if none may begin.
    mutating func takeWrite() -> Operation? { writes.popFirst() }

    /// Removes `transition`, which has begun or never will.
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

    /// Releases the operations that don't have to wait for a transition.
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
