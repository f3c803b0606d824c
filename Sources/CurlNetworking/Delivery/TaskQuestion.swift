import Foundation

/// Something that a task's delegate is asked. The task waits for the answer, but for `willCache`; only the first one counts, and any
/// thread may give it.
enum TaskQuestion: Sendable {
    /// Nothing after it is delivered before it has been answered.
    case disposition(of: URLResponse)
    /// Another part of the body begins, which replaces the one before. In order with the body's bytes, and otherwise as a response.
    case partDisposition(of: ResponseHead)
    /// The response's redirect leads to the request.
    case redirect(HTTPURLResponse, URLRequest, @Sendable (URLRequest?) -> Void)
    /// Somebody asks for a credential.
    case challenge(ChallengeQuestion)
    /// The stream with the request's body.
    case bodyStream(@Sendable (InputStream?) -> Void)
    /// The time of a request that was put off has come.
    case delayedRequest(URLRequest, @Sendable (URLSession.DelayedRequestDisposition, URLRequest?) -> Void)
    /// Asked after the body.
    case willCache(StoredResponse, @Sendable (CachedURLResponse?) -> Void)
}
