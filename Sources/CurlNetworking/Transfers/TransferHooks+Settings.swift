import CurlTransport
import Foundation

extension TransferHooks {
    /// The session's additions to the transfers of `task`; nil for none. Loop only.
    convenience init?(
        _ settings: SessionSettings,
        for request: URLRequest,
        of task: URLSessionTask?,
        over origin: Origin?
    ) {
        guard settings.hasHooks else { return nil }
        var configure: ((EasyHandle) throws -> ConfiguredOptions)?
        if let configuration = settings.configureTransfer {
            configure = { easy in try configuration.apply(to: easy, for: request) }
        }
        var tap: TraceTap?
        if let queue = settings.traceQueue, let task {
            tap = TraceTap(queue, about: task, sendsHeads: origin.map { !$0.isFTP } ?? true)
        }
        self.init(configure: configure, tracer: tap?.tracer)
    }
}

extension URLError {
    /// The error of a transfer that couldn't start; an error thrown by the program's own closure takes precedence.
    init(_ failure: TransferFailure, of hooks: TransferHooks?, url: URL?) {
        guard let error = hooks?.error else {
            self.init(failure, url: url)
            return
        }
        if let error = error as? URLError {
            self = error.with(url: url)
        } else {
            self.init(configureTransfer: error, url: url)
        }
    }

    /// The error of a task with which the program's own libcurl options can't be reconciled.
    init(configureTransfer error: any Error, url: URL?) {
        self.init(.unknown, url: url, "configureTransfer: \(error)", details: [NSUnderlyingErrorKey: error])
    }
}
