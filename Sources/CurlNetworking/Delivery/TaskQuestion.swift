import Foundation

/// A question to a task's delegate. The task waits for the answer, except to `willCache`; only the first answer counts, and any thread may
/// give it. Whether a response is wanted is asked by the `Mailbox`, which holds back what follows.
enum TaskQuestion: Sendable {
    /// The response redirects to the request.
    case redirect(TaskResponse, URLRequest, @Sendable (URLRequest?) -> Void)
    /// A server, a proxy or a protocol class asks for a credential.
    case challenge(ChallengeQuestion)
    /// Asks for the stream with the request's body from an offset on, in bytes.
    case bodyStream(from: Int64, @Sendable (InputStream?) -> Void)
    /// The start time of a delayed request has come.
    case delayedRequest(URLRequest, @Sendable (URLSession.DelayedRequestDisposition, URLRequest?) -> Void)
    /// Asked after the body.
    case willCache(StoredResponse, @Sendable (CachedURLResponse?) -> Void)
}
