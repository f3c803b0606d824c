import CurlNetworkingLocks
import Foundation

/// The cookies of one task that shares them with no other: those that it was given, and those that its responses set. In memory. Any
/// thread.
final class TaskCookies: CookieJar {
    /// Parses the fields of all tasks' responses, one after the other.
    private static let parsing = DispatchQueue(label: "CurlNetworking.cookies.task", qos: .utility)

    private let content: Mutex<Content>

    private struct Content {
        var index = CookieIndex()
        /// Of the last response that had any.
        var last: (url: URL, fields: [String])?
    }

    init(_ cookies: [StoredCookie]) {
        var content = Content()
        for cookie in cookies { content.index.insert(cookie) }
        self.content = Mutex(content)
    }

    /// Takes effect after all earlier calls. `completion` is called on another queue.
    func removeAll(_ completion: @escaping @Sendable () -> Void) {
        Self.parsing.async {
            self.content.withLock { $0.index = CookieIndex() }
            completion()
        }
    }

    /// The `Set-Cookie` fields of the last response that had any, if it came from `url`.
    func fields(ofResponseFrom url: URL) -> [String]? {
        content.withLock { $0.last?.url == url ? $0.last?.fields : nil }
    }

    func cookieField(for url: URL) -> CookieLookup {
        .found(field(for: url))
    }

    func findCookieField(for url: URL, completion: @escaping @Sendable (String?) -> Void) {
        completion(field(for: url))
    }

    func findCookieField(afterStoringFor url: URL, completion: @escaping @Sendable (String?) -> Void) {
        Self.parsing.async { completion(self.field(for: url)) }
    }

    private func field(for url: URL) -> String? {
        guard let target = CookieTarget(url) else { return nil }
        return content.withLock { $0.index.fieldValue(for: target, now: Date()) }
    }

    func store(
        _ fields: [String],
        from url: URL,
        mainDocument: URL?,
        policy: HTTPCookie.AcceptPolicy,
        completion: @escaping @Sendable () -> Void
    ) {
        content.withLock { $0.last = (url, fields) }
        Self.parsing.async { [self] in
            let now = Date()
            let cookies = CookieAcceptance(policy: policy)
                .cookies(from: fields, at: url, mainDocument: mainDocument, now: now)
            if let target = CookieTarget(url) {
                // Without the lock, which loops need to look up cookies: only this queue changes the index.
                var index = content.withLock { $0.index }
                _ = index.store(cookies, isSecureOrigin: target.isSecure, now: now)
                content.withLock { [index] content in content.index = index }
            }
            completion()
        }
    }
}
