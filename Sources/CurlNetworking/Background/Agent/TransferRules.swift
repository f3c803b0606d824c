import Foundation

extension TaskSettings {
    /// Of what the program has set, what concerns the transfer.
    func apply(to task: URLSessionTask) {
        task.priority = priority
        task.earliestBeginDate = earliestBeginDate
    }
}

extension URLError {
    /// Whether the same request may succeed later, without anybody's doing.
    var isTransient: Bool {
        switch code {
        case .networkConnectionLost, .timedOut, .cannotConnectToHost, .cannotFindHost, .dnsLookupFailed,
            .notConnectedToInternet:
            true
        default: false
        }
    }
}
