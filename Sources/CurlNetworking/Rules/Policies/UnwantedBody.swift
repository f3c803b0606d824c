/// What to do with the body of a response that isn't the task's: reading it to its end keeps the connection, but makes the next request
/// wait.
enum UnwantedBody {
    /// In bytes: reading more costs more than a new connection.
    static let maximumLength = 64 * 1024
    /// The next request waits no longer than this for the rest.
    static let maximumTime = Duration.seconds(1)

    /// Whether the body after `head`, the response to a request with `method`, may soon be over without ending the connection.
    static func isWorthReading(after head: ResponseHead, method: String) -> Bool {
        guard let body = try? MessageBody(after: head, method: method) else { return false }
        if body.isComplete { return true }
        // With HTTP/1, only the connection's end would be the body's. With later versions, the body has its own end.
        if body.mayEnd { return !head.isOfHTTP1 }
        return head.isChunked || head.contentLength ?? 0 <= maximumLength
    }
}
