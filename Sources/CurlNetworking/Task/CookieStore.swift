import Foundation
import Locks

/// A cookie storage as its sessions use it: look-ups come from an index in memory, and what responses set is written in batches.
///
/// The stock storage goes through all its cookies for a look-up, writes its whole file with every change, and has readers wait for that.
/// So no event loop and no look-up waits for a write of ours: while one is under way, the index alone answers. At all other times the
/// program may have changed the storage, which doesn't report that; so a look-up first makes sure that the storage still has the
/// very cookies that the index was made from. Where that is quick it happens on the loop, else on the indexing queue, once for all look-ups
/// that wait for it. One store serves all sessions with the same storage.
///
/// `@unchecked Sendable`: `shared` guards what any thread may touch, the rest never changes or is the indexing queue's alone. `storage`
/// guards itself.
final class CookieStore: @unchecked Sendable {
    let storage: HTTPCookieStorage

    /// Reads `Set-Cookie` fields, of one response after the other.
    private let parsing = DispatchQueue(label: "CurlNetworking.cookies.parsing", qos: .utility)
    /// Never waits for a write of ours.
    let indexing = DispatchQueue(label: "CurlNetworking.cookies")
    /// Does nothing but write.
    let writing = DispatchQueue(label: "CurlNetworking.cookies.writing", qos: .utility)

    // MARK: Any thread

    let shared = Mutex(Shared())

    struct Shared {
        var phase = Phase.unread
        /// What the storage is known to have.
        var known: [HTTPCookie] = []
        /// The same, and what is to be written.
        var index = CookieIndex()
        /// What waits for the index to be compared with the storage.
        var lookups: [@Sendable () -> Void] = []
    }

    enum Phase {
        /// The storage hasn't been read yet.
        case unread
        /// Look-ups compare first.
        case comparable(onLoop: Bool)
        /// Reading the storage may mean waiting for a file, so look-ups don't.
        case writing
    }

    // MARK: Indexing queue only

    var index = CookieIndex()
    private var snapshot = CookieSnapshot()
    var pending = PendingCookieWrites()
    var waiters: [Waiter] = []
    /// Stock storages for ephemeral sessions say that of themselves. All others have a file.
    private(set) lazy var isInMemory = storage.description.hasPrefix("Ephemeral")

    // MARK: - One for each storage

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

    // MARK: - Look-ups

    enum Lookup: Equatable {
        case found(String?)
        /// The storage has to be read first: ask with a completion.
        case busy
    }

    /// The value of the `Cookie` field for a request to `url`. Loop; never blocks for a file.
    func cookieField(for url: URL) -> Lookup {
        switch shared.withLock({ $0.phase }) {
        case .unread, .comparable(onLoop: false): return .busy
        case .writing: break
        case .comparable(onLoop: true):
            let cookies = storage.cookies ?? []
            guard shared.withLock({ CookieSnapshot.areSame(cookies, $0.known) }) else { return .busy }
        }
        return .found(indexedField(for: url))
    }

    /// The same, after what the program has done with the storage. `completion` is called on the store's queue.
    func findCookieField(for url: URL, completion: @escaping @Sendable (String?) -> Void) {
        whenCurrent { completion(self.indexedField(for: url)) }
    }

    /// The same, after all responses whose fields have been passed to `store` as well.
    func findCookieField(afterStoringFor url: URL, completion: @escaping @Sendable (String?) -> Void) {
        parsing.async {
            self.indexing.async {
                self.compare()
                completion(self.indexedField(for: url))
            }
        }
    }

    /// The cookies that a request to `url` carries, in their order; nil where it is no http or https URL. `completion` is called on the
    /// store's queue.
    func findCookies(for url: URL, completion: @escaping @Sendable ([HTTPCookie]?) -> Void) {
        whenCurrent {
            guard let target = CookieTarget(url) else { return completion(nil) }
            completion(self.index.cookies(for: target, now: Date()).map(\.cookie))
        }
    }

    private func indexedField(for url: URL) -> String? {
        // Most sessions have no cookies, and need not take the URL to pieces.
        guard !shared.withLock({ $0.index.isEmpty }), let target = CookieTarget(url) else { return nil }
        return shared.withLock { $0.index.fieldValue(for: target, now: Date()) }
    }

    private func whenCurrent(_ lookup: @escaping @Sendable () -> Void) {
        let isFirst = shared.withLock { shared in
            shared.lookups.append(lookup)
            return shared.lookups.count == 1
        }
        if isFirst { indexing.async { self.answerLookups() } }
    }

    /// Indexing queue.
    func answerLookups() {
        let lookups = shared.withLock { shared in
            defer { shared.lookups = [] }
            return shared.lookups
        }
        guard !lookups.isEmpty else { return }
        compare()
        for lookup in lookups { lookup() }
    }

    // MARK: - Following the storage

    /// Brings the index up to date with the storage, unless that would have to wait for a write. Indexing queue.
    func compare() {
        if case .writing = shared.withLock({ $0.phase }) { return }
        let cookies = storage.cookies ?? []
        if !CookieSnapshot.areSame(cookies, snapshot.cookies) {
            let difference = snapshot.update(to: cookies)
            for key in difference.removed {
                if pending[key] == nil { index.remove(key) } else { index.mark(key, isInStorage: false) }
            }
            for cookie in difference.added {
                switch pending[cookie.key] {
                case nil: index.insert(cookie)
                case .set: index.mark(cookie.key, isInStorage: true)
                case .remove: break
                }
            }
        }
        publish()
    }

    /// Shows everybody the index as it is now. Indexing queue.
    func publish() {
        let canCompareOnLoop =
            isInMemory ? snapshot.cookies.count <= Self.mostComparedOnLoop : snapshot.cookies.isEmpty && pending.isEmpty
        let (index, known) = (index, snapshot.cookies)
        let old = shared.withLock { shared in
            defer { (shared.index, shared.known) = (index, known) }
            if case .writing = shared.phase {} else { shared.phase = .comparable(onLoop: canCompareOnLoop) }
            return (shared.index, shared.known)
        }
        // Perhaps the last references, and to many.
        withExtendedLifetime(old) {}
    }

    /// In memory that takes a microsecond. A storage with a file is locked while it writes that.
    private static let mostComparedOnLoop = 32

    /// What the storage is known to have.
    var knownCookies: [HTTPCookie] { snapshot.cookies }

    // MARK: - Storing

    /// Stores what `fields`, the `Set-Cookie` fields of a response from `url`, ask for and `policy` accepts.
    ///
    /// `completion` is called on the store's queue, when look-ups find the cookies; where that takes but a short time, when a program finds
    /// them in the storage as well.
    func store(
        _ fields: [String],
        from url: URL,
        mainDocument: URL?,
        policy: HTTPCookie.AcceptPolicy,
        completion: @escaping @Sendable () -> Void
    ) {
        parsing.async { [self] in
            let strictest = storage.cookieAcceptPolicy == .always ? policy : stricter(policy)
            let acceptance = CookieAcceptance(policy: strictest) { domain in
                PublicSuffixList.system?.contains(domain) ?? PublicSuffixList.isProbablySuffix(domain)
            }
            let cookies = acceptance.cookies(from: fields, at: url, mainDocument: mainDocument, now: Date())
            guard !cookies.isEmpty, let target = CookieTarget(url) else { return completion() }
            indexing.async { [self] in
                compare()
                change(index.store(cookies, isSecureOrigin: target.isSecure, now: Date()))
                wait(shortly: true, completion)
            }
        }
    }

    /// The storage has a policy of its own, which a session's doesn't loosen.
    private func stricter(_ policy: HTTPCookie.AcceptPolicy) -> HTTPCookie.AcceptPolicy {
        policy == .never ? .never : storage.cookieAcceptPolicy
    }

    /// Removes all cookies from the index, and has them removed from the storage.
    func removeAll() {
        afterStoring { [self] in
            compare()
            let removed = index.all
            index = CookieIndex()
            change(removed.map { .remove($0) })
        }
    }

    /// Calls `completion`, on the store's queue, when all that has been asked for so far is written.
    func finishWrites(completion: @escaping @Sendable () -> Void) {
        afterStoring { self.wait(shortly: false, completion) }
    }

    /// Runs `action` on the indexing queue, after all responses so far.
    private func afterStoring(_ action: @escaping @Sendable () -> Void) {
        parsing.async { self.indexing.async(execute: action) }
    }

    private func change(_ changes: [CookieChange]) {
        for change in changes { pending.note(change) }
        publish()
        writeNext()
    }
}
