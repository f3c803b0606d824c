import Curl
import Foundation

// The cache's part in a task: before the network, instead of it, and after it. Everything on the loop.

extension TaskRunner {
    /// What the loop knows of the cache's part in the hop under way.
    struct Caching {
        /// What the hop's request wants; nil for requests whose responses are not cached.
        var demand: CacheDemand?
        /// What is delivered instead of the network's answer.
        @Rare var answer: StoredResponse?
        /// What the server is asked to confirm, and with which fields.
        @Rare var validated: StoredResponse?
        var fields: [HeaderField] = []
        var requested = Date.distantPast
        /// The response under way is to be stored.
        var write: CacheWrite?
    }

    /// A response on its way into the cache.
    struct CacheWrite {
        let head: ResponseHead
        let request: URLRequest
        let received = Date()
        let limit: Int
        var storagePolicy = URLCache.StoragePolicy.allowed
        /// A copy of what has been handed over, where nobody else gathers it.
        var body = Data()
    }

    // MARK: - Before the network

    /// Asks the cache, where it may have a part in the request; the network comes after it.
    func prepareForNetwork() {
        loading.caching = Caching()
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
        guard let cache, demand.reading != .nothing else { return decide(on: nil, for: demand) }
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
        let stored = stored.flatMap { isVariantOfRequest($0, demand) ? $0 : nil }
        let freshness = stored?.freshness(now: Date())
        switch CacheValidation.decision(for: demand, stored: stored?.head, freshness: freshness) {
        case .use:
            loading.caching.answer = stored
            prepared()
        case .validate(let fields):
            loading.caching.validated = stored
            loading.caching.fields = fields
            prepareExchange()
        case .load:
            loading.caching.fields = demand.fields
            prepareExchange()
        case .fail:
            let url = shared.withLock { $0.currentRequest?.url }
            let description = "The cache has no response for the request, which must not go to the network."
            finish(.failure(URLError(.resourceUnavailable, url, description)))
        }
    }

    /// Whether the stored response answers requests like this one. Of what a program has stored itself nobody knows; there
    /// its own wish to take anything counts.
    private func isVariantOfRequest(_ stored: StoredResponse, _ demand: CacheDemand) -> Bool {
        guard let request = shared.withLock({ $0.currentRequest }) else { return false }
        if stored.variant == nil, demand.reading == .anything { return true }
        return CacheVariant.matches(stored.head, stored: stored.variant ?? []) { name in
            self.value(of: name, in: request) {
                guard let url = request.url, let store = self.session.settings.sentCookies else { return nil }
                // While cookies are being written nobody can say: that equals nothing.
                guard case .found(let cookies) = store.cookieField(for: url) else { return "\n" }
                return cookies
            }
        }
    }

    /// The value of a field as it goes out.
    private func value(of name: String, in request: URLRequest, cookies: () -> String?) -> String? {
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
            || originalRequest?.url.flatMap(Origin.init) == request.url.flatMap(Origin.init)
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
        guard let answer = loading.caching.answer else { return false }
        guard shared.withLock({ $0.machine.admit() }) else { return true }
        deliver(answer)
        return true
    }

    /// The answer to a request that has changed things: what is stored of them is worthless. Within libcurl.
    func invalidateCache(_ head: ResponseHead, to request: URLRequest) {
        guard let cache = session.settings.cache, let url = request.url,
            CacheStorability.invalidates(request.httpMethod, status: head.status)
        else { return }
        for url in CacheStorability.invalidatedURLs(by: head, at: url) { cache.remove(url) }
    }

    /// True when a stored response is the task's answer, as `head` says or in spite of it; it is delivered when the exchange
    /// is over. Within libcurl.
    func selectsStoredResponse(_ head: ResponseHead) -> Bool {
        guard let stored = loading.caching.validated, let demand = loading.caching.demand else { return false }
        if head.status == 304 {
            loading.caching.answer = confirm(stored, with: head)
            return true
        }
        guard CacheValidation.errorStatuses.contains(head.status),
            CacheValidation.standsInForError(stored.head, stored.freshness(now: Date()), for: demand)
        else { return false }
        loading.caching.answer = stored
        return true
    }

    /// The server says that `stored` still is what it would send.
    private func confirm(_ stored: StoredResponse, with head: ResponseHead) -> StoredResponse {
        var confirmed = stored
        confirmed.head = CacheValidation.merge(stored.head, with: head)
        confirmed.requested = loading.caching.requested
        confirmed.received = Date()
        // What has to be validated every time is as good as it was.
        if confirmed.freshness(now: Date()).isFresh { session.settings.cache?.store(confirmed) }
        return confirmed
    }

    /// True when the exchange is over and its task has got a stored response.
    func deliversStoredResponse(after exchange: Exchange, _ error: URLError?) -> Bool {
        if let answer = loading.caching.answer {
            deliver(answer)
            return true
        }
        guard let error, error.code != .cancelled, exchange.head == nil, let stored = loading.caching.validated,
            let demand = loading.caching.demand,
            CacheValidation.standsInForError(stored.head, stored.freshness(now: Date()), for: demand)
        else { return false }
        deliver(stored)
        return true
    }

    private func deliver(_ stored: StoredResponse) {
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

    // MARK: - After the network

    /// The body that follows is to be stored, if it may be and isn't too large. Within libcurl.
    func beginCaching(_ head: ResponseHead, to request: URLRequest, expected: Int64) {
        guard let demand = loading.caching.demand, demand.mayStore, let cache = session.settings.cache, deliversBody,
            CacheStorability.isStorable(
                head,
                for: demand,
                answersChallenge: loading.authentication?.hasSentSomething ?? false
            )
        else { return }
        let limit = cache.sizeLimit
        guard expected <= limit else { return }
        loading.caching.write = CacheWrite(head: head, request: request, limit: limit)
    }

    /// Within libcurl.
    func gatherForCache(_ bytes: UnsafeRawBufferPointer) {
        guard let count = loading.caching.write?.body.count else { return }
        if count + bytes.count > loading.caching.write?.limit ?? 0 {
            loading.caching.write = nil
        } else {
            loading.caching.write?.body.append(contentsOf: bytes)
        }
    }

    /// The body is complete: it goes into the cache, if the delegate has nothing against it. True when the task's end has to wait for that:
    /// `completeBody()` is called then.
    func finishCaching() -> Bool {
        guard let stored = takeStorableResponse() else { return false }
        if case .delegate = shared.withLock({ $0.consumer }), delegates.data != nil {
            post(.willCache(stored))
            return false
        }
        return session.settings.cache?.store(stored) { [weak self] in
            guard let self else { return }
            submit { self.completeBody() }
        } ?? false
    }

    private func takeStorableResponse() -> StoredResponse? {
        guard let write = loading.caching.write.take(), let url = write.request.url,
            let response = shared.withLock({ $0.response }), let ownURL = response.url
        else { return nil }
        let body: Data
        switch loading.destination {
        case .memory: body = loading.memory
        case .stream: body = write.body
        case .file: return nil
        }
        guard body.count <= write.limit else { return nil }
        let variant = CacheVariant.fields(of: write.head) { name in
            self.value(of: name, in: write.request) { self.loading.cookies.field }
        }
        return StoredResponse(
            key: StoredResponse.key(of: url),
            url: ownURL,
            form: StoredResponse.form(of: response),
            head: StoredResponse.head(of: response, version: write.head.version),
            requested: loading.caching.requested,
            received: write.received,
            variant: variant,
            data: body,
            storagePolicy: CacheVariant.holdsSecrets(variant) ? .allowedInMemoryOnly : write.storagePolicy
        )
    }
}
