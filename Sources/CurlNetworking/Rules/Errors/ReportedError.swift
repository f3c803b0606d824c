import Foundation

// Errors reported by a program's own protocol class. The task completes with exactly that error, whatever its type. Internally all tasks fail
// with a URLError, so it is wrapped in one.

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

    /// The error that the task completes with.
    var shown: any Error { userInfo[Self.reportedKey] as? any Error ?? self }
}
