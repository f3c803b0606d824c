import Foundation

/// One delegate, as each of the protocols it conforms to: cast once rather than for every message. A class, because every message copies it.
final class DelegateSet: Sendable {
    let session: (any URLSessionDelegate)?
    let task: (any URLSessionTaskDelegate)?
    let data: (any URLSessionDataDelegate)?
    let download: (any URLSessionDownloadDelegate)?
    let webSocket: (any URLSessionWebSocketDelegate)?
    let stream: (any URLSessionStreamDelegate)?

    static let none = DelegateSet(nil)

    init(_ delegate: (any URLSessionDelegate)?) {
        session = delegate
        task = delegate as? any URLSessionTaskDelegate
        data = delegate as? any URLSessionDataDelegate
        download = delegate as? any URLSessionDownloadDelegate
        webSocket = delegate as? any URLSessionWebSocketDelegate
        stream = delegate as? any URLSessionStreamDelegate
    }

    private init(
        session: (any URLSessionDelegate)?,
        task: (any URLSessionTaskDelegate)?,
        data: (any URLSessionDataDelegate)?,
        download: (any URLSessionDownloadDelegate)?,
        webSocket: (any URLSessionWebSocketDelegate)?,
        stream: (any URLSessionStreamDelegate)?
    ) {
        self.session = session
        self.task = task
        self.data = data
        self.download = download
        self.webSocket = webSocket
        self.stream = stream
    }

    /// This delegate for each protocol it conforms to, `others` for the rest.
    func over(_ others: DelegateSet) -> DelegateSet {
        guard session != nil else { return others }
        return DelegateSet(
            session: session,
            task: task ?? others.task,
            data: data ?? others.data,
            download: download ?? others.download,
            webSocket: webSocket ?? others.webSocket,
            stream: stream ?? others.stream
        )
    }
}
