import Foundation
import CurlNetworkingLocks

/// A cookie storage as used by sessions: look-ups use an index in memory, and cookies of responses are written in batches.
///
/// The stock storage goes through all its cookies for a look-up, writes its whole file for every change, and blocks readers meanwhile. So
/// event loops and look-ups never wait for our writes: during a write, only the index is used. At other times the program may have changed
/// the storage, which doesn't report changes, so a look-up first checks that the storage still has exactly the cookies in the index. If
/// that is quick it is done on the loop, otherwise on the indexing queue, once for all waiting look-ups. One store serves all sessions with
/// the same storage.
///
/// `@unchecked Sendable`: `shared` guards what any thread may use. The rest never changes, or is used on the indexing queue only. `storage`
/// guards itself.
final class CookieStore: CookieJar, @unchecked Sendable {
    private let keptStorage: ReleasedOffLoop<HTTPCookieStorage>
    var storage: HTTPCookieStorage { keptStorage.value }

    /// Parses `Set-Cookie` fields, one response after the other.
    private let parsing = DispatchQueue(label: "CurlNetworking.cookies.parsing", qos: .utility)
    /// Never waits for our writes.
    let indexing = DispatchQueue(label: "CurlNetworking.cookies")
    /// Only writes.
    let writing = DispatchQueue(label: "CurlNetworking.cookies.writing", qos: .utility)

    // MARK: Any thread

    let shared = Mutex(Shared())

    struct Shared {
        var phase = Phase.unread
        /// The cookies that the storage is known to have.
        var known: [HTTPCookie] = []
        /// The same cookies with unwritten changes.
        var index = CookieIndex()
        /// Look-ups that wait until the index has been compared with the storage.
        var lookups: [@Sendable () -> Void] = []
    }

    enum Phase {
        /// The storage hasn't been read yet.
        case unread
        /// Look-ups compare the index with the storage first.
        case comparable(onLoop: Bool)
        /// Reading the storage could wait for a file, so look-ups use only the index.
        case writing
    }

    // MARK: Indexing queue only

    var index = CookieIndex()
    private var snapshot = CookieSnapshot()
    var pending = PendingCookieWrites()
    /// Whether cookies that the next comparison finds are to be removed, as all were when the storage couldn't be read.
    private var removesFound = false
    var waiters: [Waiter] = []
    /// When the waiters' deadlines are checked next; nil if no check is scheduled.
    var alarm: DispatchTime?
    /// Whether it is an ephemeral session's stock storage, as its description says. All others have a file.
    private(set) lazy var isInMemory = storage.description.hasPrefix("Ephemeral")

    // MARK: - One for each storage

    private static let stores = WeakTable<ObjectIdentifier, CookieStore>()

    private init(_ storage: HTTPCookieStorage) {
        keptStorage = ReleasedOffLoop(storage)
    }

    /// The only store for `storage`.
    static func store(over storage: HTTPCookieStorage) -> CookieStore {
        stores.object(for: ObjectIdentifier(storage)) { CookieStore(storage) }
    }

    // MARK: - Look-ups

    /// `.busy` if the storage must be read first.
    func cookieField(for url: URL) -> CookieLookup {
        switch shared.withLock({ $0.phase }) {
        case .unread, .comparable(onLoop: false): return .busy
        case .writing: break
        case .comparable(onLoop: true):
            let cookies = storage.cookies ?? []
            guard shared.withLock({ CookieSnapshot.areSame(cookies, $0.known) }) else { return .busy }
        }
        return .found(indexedField(for: url))
    }

    /// Includes the program's changes of the storage. `completion` is called on the store's queue.
    func findCookieField(for url: URL, completion: @escaping @Sendable (String?) -> Void) {
        whenCurrent { completion(self.indexedField(for: url)) }
    }

    func findCookieField(afterStoringFor url: URL, completion: @escaping @Sendable (String?) -> Void) {
        parsing.async {
            self.indexing.async {
                self.compare()
                completion(self.indexedField(for: url))
            }
        }
    }

    /// The cookies that a request to `url` carries, in order; nil if it isn't an http or https URL. `completion` is called on the store's
    /// queue.
    func findCookies(for url: URL, completion: @escaping @Sendable ([StoredCookie]?) -> Void) {
        whenCurrent {
            guard let target = CookieTarget(url) else { return completion(nil) }
            completion(self.index.sentCookies(for: target, now: Date()))
        }
    }

    private func indexedField(for url: URL) -> String? {
        // Most sessions have no cookies, so the URL needn't be parsed.
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

    /// Updates the index from the storage, unless that could wait for a write. Indexing queue.
    func compare() {
        guard !isWriting else { return }
        let cookies = storage.cookies ?? []
        if !CookieSnapshot.areSame(cookies, snapshot.cookies) { follow(snapshot.update(to: cookies)) }
        removesFound = false
        pending.markCompared()
        publish()
    }

    /// The program's changes replace earlier ones by responses. Those by responses during a write may be earlier or later, and count.
    private func follow(_ difference: CookieSnapshot.Difference) {
        let now = Date()
        for cookie in difference.removed {
            let key = cookie.key
            // The storage itself removes expired cookies.
            if !cookie.isExpired(at: now) { pending.giveWay(key) }
            if pending[key] == nil { index.remove(key) } else { index.mark(key, isInStorage: false) }
        }
        for cookie in difference.added {
            pending.giveWay(cookie.key)
            switch pending[cookie.key] {
            case nil where removesFound: pending.note(.remove(cookie))
            case nil: index.insert(cookie)
            case .set: index.mark(cookie.key, isInStorage: true)
            case .remove: break
            }
        }
    }

    /// Whether reading the storage could wait for a write.
    var isWriting: Bool {
        if case .writing = shared.withLock({ $0.phase }) { true } else { false }
    }

    /// Publishes the current index. Indexing queue.
    func publish() {
        let canCompareOnLoop =
            isInMemory
            ? snapshot.cookies.count <= Self.maximumComparedOnLoop : snapshot.cookies.isEmpty && pending.isEmpty
        let (index, known) = (index, snapshot.cookies)
        let old = shared.withLock { shared in
            defer { (shared.index, shared.known) = (index, known) }
            if case .writing = shared.phase {} else { shared.phase = .comparable(onLoop: canCompareOnLoop) }
            return (shared.index, shared.known)
        }
        // Released without the lock: these may be the last references to many objects.
        withExtendedLifetime(old) {}
    }

    /// In memory, comparing takes a microsecond. A storage with a file is locked while it writes the file.
    private static let maximumComparedOnLoop = 32

    /// The cookies that the storage is known to have.
    var knownCookies: [HTTPCookie] { snapshot.cookies }

    // MARK: - Storing

    /// `completion` is called on the store's queue, once look-ups find the cookies and, if that doesn't take long, the program finds them
    /// in the storage.
    func store(
        _ fields: [String],
        from url: URL,
        mainDocument: URL?,
        policy: HTTPCookie.AcceptPolicy,
        completion: @escaping @Sendable () -> Void
    ) {
        parsing.async { [self] in
            let strictest = storage.cookieAcceptPolicy == .always ? policy : stricter(policy)
            let cookies = CookieAcceptance(policy: strictest)
                .cookies(from: fields, at: url, mainDocument: mainDocument, now: Date())
            guard !cookies.isEmpty, let target = CookieTarget(url) else { return completion() }
            indexing.async { [self] in
                compare()
                change(index.store(cookies, isSecureOrigin: target.isSecure, now: Date()))
                wait(shortly: true, completion)
            }
        }
    }

    /// Stores those of the program's `cookies` that a response from `url` could set. Any thread but the store's queues; the storage has
    /// them afterwards, and may have written its file.
    func store(_ cookies: [HTTPCookie], from url: URL, mainDocument: URL?) {
        let now = Date()
        let cookies = CookieAcceptance(policy: storage.cookieAcceptPolicy)
            .acceptable(cookies, at: url, mainDocument: mainDocument)
        guard !cookies.isEmpty, let target = CookieTarget(url) else { return }
        // The index follows as with other changes that the program makes.
        var copy = indexing.sync { [self] in
            compare()
            return index
        }
        for change in copy.store(cookies, isSecureOrigin: target.isSecure, now: now) { change.apply(to: storage) }
    }

    /// The storage has its own policy, which a session's doesn't relax.
    private func stricter(_ policy: HTTPCookie.AcceptPolicy) -> HTTPCookie.AcceptPolicy {
        policy == .never ? .never : storage.cookieAcceptPolicy
    }

    /// Removes all cookies from the index at once, and from the storage soon.
    func removeAll() {
        afterStoring { [self] in
            compare()
            removesFound = isWriting
            let removed = index.all
            index = CookieIndex()
            change(removed.map { .remove($0) })
        }
    }

    /// Calls `completion` on the store's queue, once all changes so far are written.
    func finishWrites(completion: @escaping @Sendable () -> Void) {
        afterStoring { self.wait(shortly: false, completion) }
    }

    /// Runs `action` on the indexing queue, after all responses so far have been processed.
    private func afterStoring(_ action: @escaping @Sendable () -> Void) {
        parsing.async { self.indexing.async(execute: action) }
    }

    private func change(_ changes: [CookieChange]) {
        for change in changes { pending.note(change) }
        // The storage has just been compared.
        if !isWriting { pending.markCompared() }
        publish()
        writeNext()
    }
}
