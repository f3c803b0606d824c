import Foundation

/// One delegate, as each of the protocols it conforms to: cast once rather than for every message.
struct DelegateSet: Sendable {
    let session: (any URLSessionDelegate)?
    let task: (any URLSessionTaskDelegate)?
    let data: (any URLSessionDataDelegate)?
    let download: (any URLSessionDownloadDelegate)?

    static let none = DelegateSet(nil)

    init(_ delegate: (any URLSessionDelegate)?) {
        session = delegate
        task = delegate as? any URLSessionTaskDelegate
        data = delegate as? any URLSessionDataDelegate
        download = delegate as? any URLSessionDownloadDelegate
    }

    private init(
        session: (any URLSessionDelegate)?,
        task: (any URLSessionTaskDelegate)?,
        data: (any URLSessionDataDelegate)?,
        download: (any URLSessionDownloadDelegate)?
    ) {
        self.session = session
        self.task = task
        self.data = data
        self.download = download
    }

    /// This delegate for each protocol it conforms to, `others` for the rest.
    func over(_ others: DelegateSet) -> DelegateSet {
        DelegateSet(
            session: session ?? others.session,
            task: task ?? others.task,
            data: data ?? others.data,
            download: download ?? others.download
        )
    }
}
