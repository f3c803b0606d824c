import Foundation

extension TaskSettings {
    /// Applies the program's settings that concern the transfer.
    func apply(to task: URLSessionTask) {
        task.priority = priority
        task.earliestBeginDate = earliestBeginDate
    }
}

extension URLError {
    static func cancelled(_ url: URL, because reason: BackgroundTaskCancelledReason?) -> URLError {
        let error = URLError.cancelled(url)
        guard let reason else { return error }
        let info = error.userInfo.merging([NSURLErrorBackgroundTaskCancelledReasonKey: reason.rawValue]) { $1 }
        return URLError(.cancelled, userInfo: info)
    }

    /// Whether the same request may succeed later without intervention, as when the agent is short of descriptors or memory.
    var isTransient: Bool {
        switch code {
        // A failure before any attempt means that the proxy configuration is wrong.
        case .cannotConnectToHost where transferPhase == .preparing || isRefusedByProxy: false
        case .networkConnectionLost, .timedOut, .cannotConnectToHost, .cannotFindHost, .dnsLookupFailed,
            .notConnectedToInternet:
            true
        default: systemError?.isShortage == true
        }
    }
}
