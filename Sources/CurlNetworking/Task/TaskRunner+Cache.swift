import Curl
import Foundation

// The cache's part in a task: before the network, and instead of it. Everything on the loop.

extension TaskRunner {
    /// What the loop knows of the cache's part in the hop under way.
    struct Caching {
        /// What the hop's request wants; nil for requests whose responses are not cached.
        var demand: CacheDemand?
        var stored = Stored.unknown
        /// What goes out with the request because of the cache.
        var fields: [HeaderField] = []
        var requested = Date.distantPast
        /// What the storage adds to the hop's request, where a stored response depends on it.
        var cookies = CookieStore.Lookup.busy
        /// The response under way is to be stored.
        var write: CacheWrite?
    }

    /// What becomes of the stored response.
    indirect enum Stored {
        /// The cache was not asked.
        case unknown
        /// There is none that the request could use.
        case none
        /// The server is asked for another, or whether this one still is what it would send; it stands in if the server is in trouble.
        case candidate(StoredResponse, isValidated: Bool)
        /// It is the task's answer; the server has been asked about it, or not.
        case answer(StoredResponse, isConfirmed: Bool)
        /// The server's answer was about another: it is asked again, without conditions.
        case contradicted
    }

    // MARK: - Before the network

    /// Asks the cache, where it may have a part in the request; the network comes after it.
    func prepareForNetwork() {
        let isContradicted = if case .contradicted = loading.caching.stored { true } else { false }
        loading.caching = Caching()
        do throws(URLError) { try secureRequest() } catch { return finish(.failure(error)) }
        guard let request = shared.withLock({ $0.currentRequest }), let url = request.url else {
            return prepareExchange()
        }
        let policy = session.settings.cachePolicy(for: request)
        let cache = session.settings.cache
        guard cache != nil || policy == .returnCacheDataDontLoad, let scheme = url.scheme?.lowercased(),
            scheme.hasPrefix("http")
        else { return prepareExchange() }
        var demand = CacheDemand(request, policy: policy)
        // What a Unix socket answers is of this machine, and not cached.
        if concernsCache, UnixSocketURL.transportScheme(of: scheme) == nil {
            loading.caching.demand = demand
        } else {
            demand.reading = .nothing
        }
        guard let cache, demand.reading != .nothing, !isContradicted else { return decide(on: nil, for: demand) }
        loading.caching.stored = .none
        let key = StoredResponse.key(of: url)
        let isInsistent = demand.reading == .anything || demand.failsWithout
        switch cache.find(key, now: lane.loop.now, isInsistent: isInsistent) {
        case .known(let stored):
            decide(on: stored, for: demand)
        case .unknown:
            loading.preparation = .underway
            cache.look(key, at: url) { stored in
                self.submit { self.cacheAnswered(stored) }
            }
        }
    }

    /// Whether the cache may have a part in the task.
    var concernsCache: Bool { deliversBody && takesBodyFromRequest && !sendsStream }

    /// Downloads are not cached, as on Apple's platforms.
    private var deliversBody: Bool {
        if case .file = loading.destination { false } else { true }
    }

    private var takesBodyFromRequest: Bool {
        if case .request = bodySource { true } else { false }
    }

    private func cacheAnswered(_ stored: StoredResponse?) {
        guard isUnfinished, let demand = loading.caching.demand else { return }
        decide(on: stored, for: demand)
    }

    private func decide(on stored: StoredResponse?, for demand: CacheDemand) {
        if let stored, case .busy = loading.caching.cookies, CacheVariant.names(of: stored.head).contains("cookie"),
            let request = shared.withLock({ $0.currentRequest })
        {
            loading.preparation = .underway
            return findStoredCookies(for: request) { cookies in
                self.loading.caching.cookies = .found(cookies)
                self.cacheAnswered(stored)
            }
        }
        let stored = stored.flatMap { isVariantOfRequest($0, demand) ? $0 : nil }
        loading.caching.fields = demand.fields
        let freshness = stored?.freshness(now: Date())
        let decision = CacheValidation.decision(for: demand, stored: stored?.head, freshness: freshness)
        if let range = demand.range { return decide(on: stored?.part(range), of: decision, for: demand) }
        switch decision {
        case .use:
            answer(with: stored)
        case .useAndRevalidate where revalidatesInBackground():
            answer(with: stored)
        case .useAndRevalidate:
            ask(about: stored, stored.map { CacheValidation.conditions($0.head) } ?? [])
        case .validate(let conditions):
            ask(about: stored, conditions)
        case .load:
            ask(about: stored, [])
        case .fail:
            failForLackOfResponse()
        }
    }

    /// `part` is what the request wants of what is stored.
    private func decide(on part: StoredResponse?, of decision: CacheValidation.Decision, for demand: CacheDemand) {
        if let part, decision == .use || decision == .useAndRevalidate { return answer(with: part) }
        demand.failsWithout ? failForLackOfResponse() : ask(about: nil, [])
    }

    private func failForLackOfResponse() {
        let url = shared.withLock { $0.currentRequest?.url }
        let description = "The cache has no response for the request, which must not go to the network."
        finish(.failure(URLError(.resourceUnavailable, url, description)))
    }

    private func answer(with stored: StoredResponse?) {
        if let stored { loading.caching.stored = .answer(stored, isConfirmed: false) }
        prepared()
    }

    /// Asks the server, which may confirm `stored` where there are conditions.
    private func ask(about stored: StoredResponse?, _ conditions: [HeaderField]) {
        loading.caching.fields += conditions
        if let stored { loading.caching.stored = .candidate(stored, isValidated: !conditions.isEmpty) }
        prepareExchange()
    }

    /// Whether the stored response answers requests like this one. Of what a program has stored itself nobody knows; there
    /// its own wish to take anything counts.
    private func isVariantOfRequest(_ stored: StoredResponse, _ demand: CacheDemand) -> Bool {
        guard let request = shared.withLock({ $0.currentRequest }) else { return false }
        if stored.variant == nil, demand.reading == .anything { return true }
        return CacheVariant.matches(stored.head, stored: stored.variant ?? []) { name in
            self.value(of: name, in: request) {
                guard case .found(let cookies) = self.loading.caching.cookies else { return nil }
                return cookies
            }
        }
    }

    /// The value of a field as it goes out.
    func value(of name: String, in request: URLRequest, cookies: () -> String?) -> String? {
        let own = request.value(forHTTPHeaderField: name) ?? additionalValue(of: name, for: request)
        if name == "authorization", let credential = credential(for: request, hasOwnField: own != nil) {
            return credential.basicToken
        }
        guard name == "cookie", request.httpShouldHandleCookies, let stored = cookies() else { return own }
        return own.map { $0 + "; " + stored } ?? stored
    }

    private func additionalValue(of name: String, for request: URLRequest) -> String? {
        let fields = session.settings.additionalHeaders
        guard !fields.isEmpty, let field = fields.first(where: { $0.name.isEqualIgnoringASCIICase(to: name) }) else {
            return nil
        }
        let isCredential = RedirectPolicy.credentialFields.contains { $0.isEqualIgnoringASCIICase(to: name) }
        let isAtHome =
            loading.redirectCount == 0
            || originalOrigin == request.url.flatMap(Origin.init)
        return isCredential && !isAtHome ? nil : field.value
    }

    /// Adds what validates the stored response, or keeps caches on the way from answering.
    func addCacheFields(to options: inout TransferOptions) {
        if loading.caching.demand != nil { loading.caching.requested = Date() }
        let fields = loading.caching.fields
        if !fields.isEmpty { options.replaceHeaders(fields) }
    }

    // MARK: - Instead of the network

    /// True when a stored response is the task's answer: then it has been delivered, or waits for the task to be resumed.
    func deliversStoredResponse() -> Bool {
        guard case .answer(let answer, let isConfirmed) = loading.caching.stored else { return false }
        guard shared.withLock({ $0.machine.admit() }) else { return true }
        deliver(answer, isConfirmed: isConfirmed)
        return true
    }

    /// The answer to a request that has changed things: what is stored of them is worthless. Within libcurl.
    func invalidateCache(_ head: ResponseHead, to request: URLRequest) {
        guard let cache = session.settings.cache, let url = request.url,
            CacheStorability.invalidates(request.httpMethod, status: head.status)
        else { return }
        for url in CacheStorability.invalidatedURLs(by: head, at: url) { cache.remove(url) }
    }

    /// True when a stored response is the task's answer, as `head` says or in spite of it, or the server is asked again: that happens when the
    /// exchange is over. Within libcurl.
    func selectsStoredResponse(_ head: ResponseHead) -> Bool {
        guard case .candidate(let stored, let isValidated) = loading.caching.stored, let demand = loading.caching.demand
        else { return false }
        if head.status == 304 {
            guard isValidated else { return false }
            loading.caching.stored = confirm(stored, with: head)
            return true
        }
        guard CacheValidation.errorStatuses.contains(head.status),
            CacheValidation.standsInForError(stored.head, stored.freshness(now: Date()), for: demand)
        else { return false }
        loading.caching.stored = .answer(stored, isConfirmed: false)
        return true
    }

    /// The server says that nothing has changed.
    private func confirm(_ stored: StoredResponse, with head: ResponseHead) -> Stored {
        switch CacheFields.confirmation(of: stored.head, by: head) {
        case .contradicts: return .contradicted
        case .keeps: return .answer(stored, isConfirmed: true)
        case .updates: break
        }
        var updated = stored
        let now = Date()
        updated.head = CacheFields.updated(stored.head, with: head, received: now)
        updated.requested = loading.caching.requested
        updated.received = now
        if CacheDirectives(updated.head.combined("Cache-Control")).contains("no-store") {
            if let url = URL(string: stored.key) { session.settings.cache?.remove(url) }
        } else {
            session.settings.cache?.store(updated)
        }
        return .answer(updated, isConfirmed: true)
    }

    /// True when the exchange is over and its task has got a stored response, or asks again.
    func deliversStoredResponse(after exchange: Exchange, _ error: URLError?) -> Bool {
        switch loading.caching.stored {
        case .answer(let answer, let isConfirmed):
            deliver(answer, isConfirmed: isConfirmed)
            return true
        case .contradicted where error == nil:
            follow(exchange.request)
            return true
        case .candidate(let stored, _):
            guard let error, error.code != .cancelled, exchange.head == nil, let demand = loading.caching.demand,
                CacheValidation.standsInForError(stored.head, stored.freshness(now: Date()), for: demand)
            else { return false }
            deliver(stored, isConfirmed: false)
            return true
        case .unknown, .none, .contradicted:
            return false
        }
    }

    private func deliver(_ stored: StoredResponse, isConfirmed: Bool) {
        var stored = stored
        if !isConfirmed { stored.head = CacheFields.aged(stored.head, by: stored.age(now: Date())) }
        loading.caching = Caching()
        startHop(.cache)
        do throws(URLError) {
            try accept(stored.response, received: 0, expected: Int64(stored.data.count))
            try stored.data.withUnsafeBytes { bytes in Result { () throws(URLError) in try receive(bytes) } }.get()
            countReceivedBytes()
            finishWithBody()
        } catch {
            finish(.failure(error))
        }
    }
}
