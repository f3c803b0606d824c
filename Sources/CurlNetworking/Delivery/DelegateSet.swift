import Foundation

/// One delegate, cast once to each protocol that it conforms to, rather than for every message. A class, because every message copies it.
final class DelegateSet: Sendable {
    let base: (any URLSessionDelegate)?
    let task: (any URLSessionTaskDelegate)?
    let data: (any URLSessionDataDelegate)?
    let download: (any URLSessionDownloadDelegate)?
    let webSocket: (any URLSessionWebSocketDelegate)?
    let stream: (any URLSessionStreamDelegate)?

    static let none = DelegateSet(nil)

    init(_ delegate: (any URLSessionDelegate)?) {
        base = delegate
        task = delegate as? any URLSessionTaskDelegate
        data = delegate as? any URLSessionDataDelegate
        download = delegate as? any URLSessionDownloadDelegate
        webSocket = delegate as? any URLSessionWebSocketDelegate
        stream = delegate as? any URLSessionStreamDelegate
    }

    private init(
        base: (any URLSessionDelegate)?,
        task: (any URLSessionTaskDelegate)?,
        data: (any URLSessionDataDelegate)?,
        download: (any URLSessionDownloadDelegate)?,
        webSocket: (any URLSessionWebSocketDelegate)?,
        stream: (any URLSessionStreamDelegate)?
    ) {
        self.base = base
        self.task = task
        self.data = data
        self.download = download
        self.webSocket = webSocket
        self.stream = stream
    }

    /// This delegate for each protocol it conforms to, `others` for the rest.
    func over(_ others: DelegateSet) -> DelegateSet {
        guard base != nil else { return others }
        return DelegateSet(
            base: base,
            task: task ?? others.task,
            data: data ?? others.data,
            download: download ?? others.download,
            webSocket: webSocket ?? others.webSocket,
            stream: stream ?? others.stream
        )
    }
}
