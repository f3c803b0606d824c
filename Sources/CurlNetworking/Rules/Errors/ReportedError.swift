import Foundation

// Errors reported by a program's own protocol class. The task completes with exactly that error, whatever its type. Internally all tasks
// fail with a URLError, so it is wrapped in one.

extension URLError {
    private static let reportedKey = "CurlNetworkingReportedError"

    init(reported error: any Error) {
        let plain = error as NSError
        guard let known = error as? URLError ?? URLError(known: plain) else {
            self.init(.unknown, userInfo: [Self.reportedKey: error])
            return
        }
        self.init(known.code, userInfo: known.userInfo.merging([Self.reportedKey: known]) { _, reported in reported })
    }

    /// nil for an error of another domain.
    private init?(known error: NSError) {
        guard error.domain == NSURLErrorDomain, let code = Code(rawValue: error.code) else { return nil }
        self.init(code, userInfo: error.userInfo)
    }

    /// The error that the task completes with.
    var shown: any Error { userInfo[Self.reportedKey] as? any Error ?? self }
}
