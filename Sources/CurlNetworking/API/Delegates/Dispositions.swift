extension URLSession {
    /// The ways to handle a delayed request that is due.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsession/delayedrequestdisposition>
    public enum DelayedRequestDisposition: Int, Sendable {
        /// Send the original request.
        case continueLoading
        /// Send the request in the answer.
        case useNewRequest
        /// Cancel the task.
        case cancel
    }

    /// The ways to answer an authentication challenge.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsession/authchallengedisposition>
    public enum AuthChallengeDisposition: Int, Sendable {
        /// Use the credential in the answer.
        case useCredential
        /// Act as if there were no delegate.
        case performDefaultHandling
        /// Cancel the task.
        case cancelAuthenticationChallenge
        /// Reject this challenge and try the next protection space.
        case rejectProtectionSpace
    }

    /// The ways to continue a task after its response has arrived.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsession/responsedisposition>
    public enum ResponseDisposition: Int, Sendable {
        /// Cancel the task; it completes with `URLError.cancelled`.
        case cancel
        /// Let the task continue.
        case allow
        /// Turn the task into a download task.
        case becomeDownload
        /// Turn the task into a stream task, from which the response's body can be read. After a 101 response to a request with an
        /// `Upgrade` field, it is bidirectional; see <doc:StreamTasks>.
        case becomeStream
    }
}
