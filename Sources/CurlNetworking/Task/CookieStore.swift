import Foundation
import Locks
import struct Synchronization.Atomic

/// A cookie storage as its sessions use it: reading on their loops, writing on a queue of its own.
///
/// The stock storage writes its whole file with every cookie, and has readers wait for that. So nothing of ours writes on
/// a loop, and while we write nobody reads on one: that goes to the queue too, behind the writes. One store serves all
/// sessions with the same storage.
///
/// `@unchecked Sendable`: `storage` guards itself, and never changes.
final class CookieStore: @unchecked Sendable {
    private let storage: HTTPCookieStorage
    private let queue = DispatchQueue(label: "CurlNetworking.cookies", qos: .utility)
    /// How many writes were asked for and are not done.
    private let pendingWrites = Atomic(0)

    private static let stores = Mutex<[ObjectIdentifier: WeakStore]>([:])

    private struct WeakStore {
        weak var store: CookieStore?
    }

    private init(_ storage: HTTPCookieStorage) {
        self.storage = storage
    }

    /// The one store over `storage`.
    static func store(over storage: HTTPCookieStorage) -> CookieStore {
        stores.withLock { stores in
            if let store = stores[ObjectIdentifier(storage)]?.store { return store }
            stores = stores.filter { $0.value.store != nil }
            let store = CookieStore(storage)
            stores[ObjectIdentifier(storage)] = WeakStore(store: store)
            return store
        }
    }

    enum Lookup: Equatable {
        case found(String?)
        /// Cookies are being written: ask with a completion.
        case busy
    }

    /// The value of the `Cookie` field for a request to `url`. Loop; never blocks for a file.
    func cookieField(for url: URL) -> Lookup {
        pendingWrites.load(ordering: .acquiring) == 0 ? .found(readCookieField(for: url)) : .busy
    }

    /// The same, behind all writes so far. `completion` is called on the store's queue.
    func findCookieField(for url: URL, completion: @escaping @Sendable (String?) -> Void) {
        queue.async { completion(self.readCookieField(for: url)) }
    }

    private func readCookieField(for url: URL) -> String? {
        guard let cookies = storage.cookies, !cookies.isEmpty, let target = CookieTarget(url) else { return nil }
        return CookieMatching.fieldValue(of: cookies, for: target, now: Date())
    }

    /// Stores what `fields`, the `Set-Cookie` fields of a response from `url`, ask for and `policy` accepts.
    /// `completion` is called on the store's queue.
    func store(
        _ fields: [String],
        from url: URL,
        mainDocument: URL?,
        policy: HTTPCookie.AcceptPolicy,
        completion: @escaping @Sendable () -> Void
    ) {
        pendingWrites.add(1, ordering: .acquiringAndReleasing)
        queue.async { [self] in
            let strictest = storage.cookieAcceptPolicy == .always ? policy : stricter(policy)
            let acceptance = CookieAcceptance(policy: strictest) { domain in
                PublicSuffixList.system?.contains(domain) ?? PublicSuffixList.isProbablySuffix(domain)
            }
            let cookies = acceptance.cookies(from: fields, at: url, mainDocument: mainDocument, now: Date())
            for cookie in cookies { storage.setCookie(cookie) }
            for domain in Set(cookies.map(\.domain)) {
                for cookie in CookieAcceptance.excess(of: storage.cookies ?? [], domain: domain) {
                    storage.deleteCookie(cookie)
                }
            }
            pendingWrites.subtract(1, ordering: .acquiringAndReleasing)
            completion()
        }
    }

    /// The storage has a policy of its own, which a session's doesn't loosen.
    private func stricter(_ policy: HTTPCookie.AcceptPolicy) -> HTTPCookie.AcceptPolicy {
        policy == .never ? .never : storage.cookieAcceptPolicy
    }
}
