import CurlTransport
import Foundation

/// Answers a request with a stored response, all at once, since it is in memory.
final class StoredTransfer: Transfer {
    private let stored: StoredResponse
    private weak var delegate: (any TransferDelegate)?

    let source = HopMetrics.Source.cache

    init(_ stored: StoredResponse, delegate: any TransferDelegate) {
        self.stored = stored
        self.delegate = delegate
    }

    func start() throws(URLError) {
        try delegate?.transfer(self, received: stored.response, storagePolicy: .notAllowed)
        guard let delegate, delegate.transfer(self, received: stored.data) else { return }
        self.delegate?.transferFinished(self, TransferEnding())
    }

    var isPaused: Bool { false }

    func setPaused(_ isPaused: Bool) {}

    func cancel() {
        delegate = nil
    }
}
