import Foundation

/// The source of cookies for a task's requests, and the store for those of its responses.
protocol CookieJar: AnyObject, Sendable {
    /// The value of the `Cookie` field for a request to `url`. Loop; never blocks for a file.
    func cookieField(for url: URL) -> CookieLookup

    /// The same, even if the storage has to be read first. `completion` is called on any queue.
    func findCookieField(for url: URL, completion: @escaping @Sendable (String?) -> Void)

    /// The same, after all fields passed to `store` so far have been processed.
    func findCookieField(afterStoringFor url: URL, completion: @escaping @Sendable (String?) -> Void)

    /// Stores the cookies in `fields`, the `Set-Cookie` fields of a response from `url`, that `policy` accepts. `completion` is called on
    /// any queue, once look-ups find them.
    func store(
        _ fields: [String],
        from url: URL,
        mainDocument: URL?,
        policy: HTTPCookie.AcceptPolicy,
        completion: @escaping @Sendable () -> Void
    )
}

/// What is known about a request's cookies without waiting for a file.
enum CookieLookup: Equatable {
    /// The value of the `Cookie` field; nil for none.
    case found(String?)
    /// Not known at once: call `findCookieField`.
    case busy
}

extension CookieAcceptance {
    /// With the system's list of public suffixes. Its first use reads a file.
    init(policy: HTTPCookie.AcceptPolicy) {
        self.init(policy: policy, isPublicSuffix: PublicSuffixList.isSuffix)
    }
}
