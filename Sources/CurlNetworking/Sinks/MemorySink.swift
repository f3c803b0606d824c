import Foundation

/// Collects the body in memory, for a handler or an awaiting Swift task.
final class MemorySink: Sink {
    private unowned let owner: any SinkOwner
    private var body = CollectedBytes()
    /// How many bytes the body is expected to have.
    private var reservation = 0
    /// In bytes.
    private var unsettled: Int64 = 0
    /// Whether the delegate of an awaiting Swift task also gets the bytes.
    private var isCopied = false

    /// In bytes: the most that is reserved on a server's word alone.
    private static let largestReservation: Int64 = 64 << 20

    init(_ owner: any SinkOwner) {
        self.owner = owner
    }

    func begin(_ response: AcceptedResponse) {
        reservation = Int(min(max(0, response.expected), Self.largestReservation))
        isCopied = owner.wantsCopy
    }

    func receive(_ bytes: UnsafeRawBufferPointer) {
        body.append(bytes, expected: reservation)
        guard isCopied else { return unsettled += Int64(bytes.count) }
        // The count changes before the delegate sees the bytes.
        owner.count(Int64(bytes.count), isTold: false)
        owner.deliver(counted: bytes)
    }

    func settle() {
        guard unsettled > 0 else { return }
        owner.count(unsettled, isTold: false)
        unsettled = 0
    }

    var wholeBody: Data? { body.data }

    func finish(_ completion: @escaping @Sendable (Outcome) -> Void) {
        completion(.data(body.takeData()))
    }
}
