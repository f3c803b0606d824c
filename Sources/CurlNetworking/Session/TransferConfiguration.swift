import CurlTransport
import Foundation
import struct Synchronization.Atomic

/// A session's `configureTransfer`, and whether it has set trust. Any thread.
final class TransferConfiguration: Sendable {
    typealias Body = @Sendable (inout CurlTransfer, URLRequest) throws -> Void

    private let body: ReleasedOffLoop<Body>
    private let hasSetTrust = Atomic(false)

    init(_ body: @escaping Body) {
        self.body = ReleasedOffLoop(body)
    }

    /// Whether the closure has set a trust option. Stored responses may then come from servers that the session's own transfers don't
    /// trust.
    var decidesTrust: Bool { hasSetTrust.load(ordering: .relaxed) }

    /// Sets the program's options on a transfer for `request`. Returns what they are about.
    func apply(to easy: EasyHandle, for request: URLRequest) throws -> ConfiguredOptions {
        var transfer = CurlTransfer(easy)
        try body.value(&transfer, request)
        if transfer.options.effect == .trust { hasSetTrust.store(true, ordering: .relaxed) }
        return transfer.options
    }
}
