import Foundation

// The cache's part in a task after the network: storing the answer, or dropping what it makes worthless. Everything on the loop.

extension TaskRunner {
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

    /// The body that follows is to be stored, if it may be and isn't too large. Within libcurl.
    func beginCaching(_ head: ResponseHead, to request: URLRequest, expected: Int64) {
        guard let demand = loading.caching.demand, let cache = session.settings.cache else { return }
        let limit = cache.sizeLimit
        let isStorable = CacheStorability.isStorable(
            head,
            for: demand,
            answersChallenge: loading.authentication?.hasSentSomething ?? false
        )
        if isStorable, expected <= limit {
            loading.caching.write = CacheWrite(head: head, request: request, limit: limit)
        } else {
            dropSuperseded(by: head, to: request)
        }
    }

    /// `head` is the newest answer to `request`, and isn't stored: what is stored would be older than what the program has seen.
    func dropSuperseded(by head: ResponseHead, to request: URLRequest) {
        guard let demand = loading.caching.demand, CacheStorability.supersedes(head, for: demand), let url = request.url
        else { return }
        // Where nothing was found there is nothing to drop.
        if case .none = loading.caching.stored { return }
        session.settings.cache?.remove(url)
    }

    /// Within libcurl.
    func gatherForCache(_ bytes: UnsafeRawBufferPointer) {
        guard let count = loading.caching.write?.body.count else { return }
        if count + bytes.count > loading.caching.write?.limit ?? 0 {
            if let write = loading.caching.write.take() { dropSuperseded(by: write.head, to: write.request) }
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
        guard body.count <= write.limit else {
            dropSuperseded(by: write.head, to: write.request)
            return nil
        }
        let variant = CacheVariant.fields(of: write.head) { name in
            self.value(of: name, in: write.request) { self.loading.cookies.field }
        }
        return StoredResponse(
            key: StoredResponse.key(of: url),
            url: ownURL,
            form: StoredResponse.form(of: response),
            head: write.head.stored,
            requested: loading.caching.requested,
            received: write.received,
            variant: variant,
            data: body,
            storagePolicy: CacheVariant.holdsSecrets(variant) ? .allowedInMemoryOnly : write.storagePolicy
        )
    }
}
