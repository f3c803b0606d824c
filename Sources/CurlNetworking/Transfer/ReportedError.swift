import Foundation

// Errors that a program's own protocol class reports. The task's owner is to get the very same error, of whatever type it is; on
// the way there it travels inside a URLError, as everything that makes tasks fail does.

extension URLError {
    private static let reportedKey = "CurlNetworkingReportedError"

    init(reported error: any Error) {
        if let error = error as? URLError {
            self = error
            return
        }
        let plain = error as NSError
        if plain.domain == NSURLErrorDomain, let code = URLError.Code(rawValue: plain.code) {
            self.init(code, userInfo: plain.userInfo)
        } else {
            self.init(.unknown, userInfo: [Self.reportedKey: error])
        }
    }

    /// What the task's owner gets to see.
    var shown: any Error { userInfo[Self.reportedKey] as? any Error ?? self }
}
