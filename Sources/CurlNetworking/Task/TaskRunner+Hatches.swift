import Curl
import Foundation

// The program's own hand on a transfer, and its ear for libcurl's words.

extension TaskRunner {
    /// nil where the program wants neither. Loop.
    func hatches(for request: URLRequest) -> TransferHatches? {
        guard session.settings.hasHatches else { return nil }
        let settings = session.settings
        var configure: ((EasyHandle) throws -> Void)?
        if let body = settings.configureTransfer {
            configure = { easy in
                var transfer = CurlTransfer(easy)
                try body(&transfer, request)
            }
        }
        var tap: TraceTap?
        if let desk = settings.traceDesk, let task {
            tap = TraceTap(desk, about: task, sendsHeads: loading.ticket.map { !$0.origin.isFTP } ?? true)
        }
        return TransferHatches(configure: configure, tracer: tap?.tracer)
    }
}

extension URLError {
    /// The error for a transfer that could not start: what the program's own closure has thrown comes first.
    init(_ failure: TransferFailure, of hatches: TransferHatches?, url: URL?) {
        guard let error = hatches?.error else {
            self.init(failure, url: url)
            return
        }
        if let error = error as? URLError {
            self = error
        } else {
            self.init(.unknown, url, "configureTransfer: \(error)", nil, [NSUnderlyingErrorKey: error])
        }
    }
}
