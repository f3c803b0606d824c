import Foundation

/// Detects a server that ends each response in a way indistinguishable from a lost connection, such as one that announces no length and
/// doesn't end TLS: the request would be repeated until the task's time-out.
struct UnannouncedEnds {
    private static let maximumAlike = 3

    /// The common length of the last consecutive attempts that ended like that, and their number.
    private var alike: (length: Int64, count: Int)?

    /// Notes an attempt that failed with `error`. Returns true if the attempts before it ended after as many bytes: the body is complete.
    ///
    /// - Parameter head: As the server sent it. The program's response has no length for a body that was decoded.
    mutating func note(_ error: URLError, after head: ResponseHead?, _ length: Int64) -> Bool {
        guard error.code == .networkConnectionLost, let head, CompletionPolicy.isEndedByConnection(head) else {
            alike = nil
            return false
        }
        var count = 1
        if let alike, alike.length == length { count += alike.count }
        alike = (length, count)
        return count >= Self.maximumAlike
    }
}
