import Foundation

/// Notices a server that ends each of its responses in a way that can't be told from a lost connection, such as one that announces no length and
/// doesn't end TLS: the request would be repeated until the task's time-out.
struct UnannouncedEnds {
    private static let maximumAlike = 3

    /// The counts of bytes of the last attempts in a row that ended like that, all the same.
    private var alike: (length: Int64, count: Int)?

    /// An attempt has failed with `error`. True if the attempts before it ended after as many bytes: what has come is all there is.
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
