import CurlTransport
import Foundation

/// The cache's part in a task (RFC 9111): before the network, and instead of it.
///
/// `@unchecked Sendable`: used on the loop only.
final class CacheStep: Step, @unchecked Sendable {
    /// How far the look-up has got.
    private enum Lookup {
        case none
        /// For this key; given up at the deadline.
        case underWay(String, until: Deadline)
        case found(StoredResponse?)
        /// The response found depends on cookies, which are being read from the storage.
        case findingCookies(StoredResponse)
        /// These are the storage's cookies for the request.
        case foundCookies(StoredResponse, String?)
    }

    /// The state of the stored response.
    private enum Stored {
        /// The cache wasn't asked.
        case unknown
        /// No stored response can be used for the request.
        case none
        /// The server is asked for a new response, or whether this one is still current; it stands in if the server fails.
        case candidate(StoredResponse, isValidated: Bool)
        /// The server's response was about another than the stored one: the server is asked again, without conditions.
        case contradicted
    }

    private var lookup = Lookup.none
    private var stored = Stored.unknown
    /// The request's cache demand; nil for requests whose responses aren't cached.
    private var demand: CacheDemand?
    /// The fields that the cache adds to the request.
    private var fields: [HeaderField] = []
    /// Stores the response to the current request; nil if it must not be stored.
    private var storer: CacheStorer?
    /// The latest comparison that the response has to wait for.
    private var comparison: HeadComparison?

    // MARK: - Before the network

    func prepare(_ attempt: RequestAttempt, _ context: any StepContext) -> RequestVerdict {
        guard attempt == .first else { return .pass }
        switch lookup {
        case .underWay, .findingCookies:
            return .wait
        case .found(let found):
            lookup = .none
            return demand.map { decide(on: found, $0, context) } ?? .pass
        case .foundCookies(let found, let cookies):
            lookup = .none
            return demand.map { decide(on: found, cookies: cookies, $0, context) } ?? .pass
        case .none:
            return beginLookup(context)
        }
    }

    private func beginLookup(_ context: any StepContext) -> RequestVerdict {
        let isContradicted = if case .contradicted = stored { true } else { false }
        reset()
        guard let request = context.request, let url = request.url, let scheme = Scheme(url) else { return .pass }
        let settings = context.session.settings
        guard scheme.isHTTP else {
            // A response over FTP is never stored.
            let mustNotLoad = scheme.isFTP && settings.cachePolicy(for: request) == .returnCacheDataDontLoad
            return mustNotLoad ? .fail(Self.lackOfResponse(to: url)) : .pass
        }
        let cache = settings.cache
        guard cache != nil || settings.cachePolicy(for: request).countsWithoutCache else { return .pass }
        var demand = settings.cacheDemand(of: request)
        // Responses over a Unix socket are local, and not cached.
        if Self.isConcerned(context), !scheme.isUnixSocket {
            self.demand = demand
        } else {
            demand.reading = .nothing
        }
        if scheme.isSecure, settings.configureTransfer?.decidesTrust ?? false { demand.reading = .nothing }
        guard let cache, demand.reading != .nothing, !isContradicted else { return decide(on: nil, demand, context) }
        stored = .none
        let key = StoredResponse.key(of: url)
        let isInsistent = demand.reading == .anything || demand.failsWithout
        switch cache.find(key, now: context.pool.loop.now, isInsistent: isInsistent) {
        case .known(let stored):
            return decide(on: stored, demand, context)
        case .unknown:
            wait(for: key, context)
            cache.lookUp(key, for: request) { stored in
                context.owner.submit { self.answered(stored, key, context) }
            }
            return .wait
        }
    }

    private func reset() {
        (lookup, stored, demand, fields, storer) = (.none, .unknown, nil, [], nil)
    }

    /// Whether the cache takes part in the task. Downloads aren't cached, as on Apple's platforms.
    private static func isConcerned(_ context: any StepContext) -> Bool {
        !(context.sink is FileSink) && context.owner.body.isInRequest && !context.owner.body.isStream
    }

    /// The demand of `request` on the cache; nil if the cache takes no part.
    static func demand(of request: URLRequest, _ context: any StepContext) -> CacheDemand? {
        let settings = context.session.settings
        guard settings.cache != nil, isConcerned(context) else { return nil }
        let demand = settings.cacheDemand(of: request)
        return demand.mayStore ? demand : nil
    }

    private func wait(for key: String, _ context: any StepContext) {
        let deadline = Deadline { [unowned self, weak context] in
            guard let context else { return }
            // Something may still be stored.
            stored = .unknown
            found(nil, context)
        }
        lookup = .underWay(key, until: deadline)
        context.schedule(deadline, after: CacheStores.lookupTimeout)
    }

    /// The cache has answered, which may no longer matter.
    private func answered(_ stored: StoredResponse?, _ key: String, _ context: any StepContext) {
        guard case .underWay(key, let deadline) = lookup else { return }
        context.cancel(deadline)
        found(stored, context)
    }

    private func found(_ stored: StoredResponse?, _ context: any StepContext) {
        lookup = .found(stored)
        context.proceed(self)
    }

    private func decide(
        on stored: StoredResponse?,
        _ demand: CacheDemand,
        _ context: any StepContext
    ) -> RequestVerdict {
        guard let stored, CacheVariant.names(of: stored.head).contains("cookie"), let request = context.request,
            let step = context.steps.cookies
        else { return decide(on: stored, cookies: nil, demand, context) }
        if case .found(let cookies) = step.find(for: request, context) {
            return decide(on: stored, cookies: cookies, demand, context)
        }
        lookup = .findingCookies(stored)
        step.read(for: request, context) { cookies in
            self.lookup = .foundCookies(stored, cookies)
            context.proceed(self)
        }
        return .wait
    }

    /// - Parameter cookies: The storage's for the request, if the stored response depends on them.
    private func decide(
        on stored: StoredResponse?,
        cookies: String?,
        _ demand: CacheDemand,
        _ context: any StepContext
    ) -> RequestVerdict {
        let stored = stored.flatMap { isVariant($0, of: context.request, cookies: cookies, demand, context) ? $0 : nil }
        fields = demand.fields
        let freshness = stored?.freshness(now: Date())
        let decision = CacheValidation.decision(for: demand, stored: stored?.head, freshness: freshness)
        if let range = demand.range { return decideOnPart(stored?.part(range), decision, demand, context) }
        switch decision {
        case .use:
            return answer(with: stored, context)
        case .useAndRevalidate:
            if context.beginRevalidation() { return answer(with: stored, context) }
            return ask(about: stored, stored.map { CacheValidation.conditions($0.head) } ?? [])
        case .validate(let conditions):
            return ask(about: stored, conditions)
        case .load:
            return ask(about: stored, [])
        case .fail:
            return .fail(Self.lackOfResponse(to: context.request?.url))
        }
    }

    /// `part` is the part of the stored response that the request wants.
    private func decideOnPart(
        _ part: StoredResponse?,
        _ decision: CacheValidation.Decision,
        _ demand: CacheDemand,
        _ context: any StepContext
    ) -> RequestVerdict {
        // A request for a part doesn't revalidate the whole.
        if let part, decision == .use { return answer(with: part, context) }
        return demand.failsWithout ? .fail(Self.lackOfResponse(to: context.request?.url)) : ask(about: nil, [])
    }

    private static func lackOfResponse(to url: URL?) -> URLError {
        URLError(
            .resourceUnavailable,
            url: url,
            "The cache has no response for the request, which must not go to the network."
        )
    }

    private func answer(with stored: StoredResponse?, _ context: any StepContext) -> RequestVerdict {
        stored.map { .load(transfer(of: $0, isConfirmed: false, context)) } ?? .pass
    }

    /// Asks the server, which may confirm `stored` if there are conditions.
    private func ask(about stored: StoredResponse?, _ conditions: [HeaderField]) -> RequestVerdict {
        fields += conditions
        if let stored { self.stored = .candidate(stored, isValidated: !conditions.isEmpty) }
        return .pass
    }

    /// Whether the stored response answers requests like this one. For responses that a program stored itself this is unknown: they answer
    /// requests that choose none of the variants, and all that accept anything.
    private func isVariant(
        _ stored: StoredResponse,
        of request: URLRequest?,
        cookies: String?,
        _ demand: CacheDemand,
        _ context: any StepContext
    ) -> Bool {
        guard let request else { return false }
        if stored.variant == nil, demand.reading == .anything { return true }
        return stored.isVariant(of: SentFields(request, cookies: cookies, context))
    }

    /// Adds the fields that validate the stored response, or that keep intermediate caches from answering.
    func encode(_ plan: TransferPlan, _ context: any StepContext) {
        if let demand, demand.mayStore { storer = CacheStorer(plan, context) }
        if !fields.isEmpty { plan.options?.replaceHeaders(fields) }
    }

    // MARK: - The server's response

    func receive(_ received: ReceivedHead, _ context: any StepContext) -> HeadVerdict {
        let (head, request) = (received.head, received.request)
        if received.effect != .connection { storer?.distrustConnection() }
        invalidate(by: head, to: request, context)
        if Self.isConcerned(context), let comparison = HeadComparison.begin(received, context) {
            self.comparison = comparison
            return .hold(comparison.held)
        }
        if let stored = selected(by: received, context) {
            return .load(stored)
        }
        if case .contradicted = stored { return .follow(request) }
        guard demand != nil else { return .pass }
        switch context.redirectDecision(for: received, count: 0) {
        case .follow, .refuse: dropSuperseded(by: head, to: request, context)
        case .deliver, .fail: break
        }
        return .pass
    }

    /// Removes what is stored for an unsafe request's URLs, which its response outdates.
    private func invalidate(by head: ResponseHead, to request: URLRequest, _ context: any StepContext) {
        guard let cache = context.session.settings.cache else { return }
        invalidate(by: head, to: request, in: cache)
        // A request that resumes an upload is sent elsewhere, and also concerns the URL of the upload.
        guard let upload = context.steps.upload?.creation, upload.url != request.url else { return }
        invalidate(by: head, to: upload, in: cache)
    }

    private func invalidate(by head: ResponseHead, to request: URLRequest, in cache: any CacheStore) {
        guard let url = request.url, CacheStorability.invalidates(request.httpMethod, status: head.status) else {
            return
        }
        for url in CacheStorability.invalidatedURLs(by: head, at: url) { cache.remove(url) }
    }

    /// The stored response, if it becomes the task's response because of the received one or despite it.
    private func selected(by received: ReceivedHead, _ context: any StepContext) -> StoredTransfer? {
        guard case .candidate(let candidate, let isValidated) = stored, let demand else { return nil }
        let status = received.head.status
        if status == 304 {
            return isValidated ? confirm(candidate, with: received.head, to: received.request, context) : nil
        }
        guard CacheValidation.errorStatuses.contains(status),
            CacheValidation.standsInForError(candidate.head, candidate.freshness(now: Date()), for: demand)
        else { return nil }
        return transfer(of: candidate, isConfirmed: false, context)
    }

    /// The server says that nothing has changed. nil if it means another response.
    private func confirm(
        _ candidate: StoredResponse,
        with head: ResponseHead,
        to request: URLRequest,
        _ context: any StepContext
    ) -> StoredTransfer? {
        switch CacheFields.confirmation(of: candidate.head, by: head) {
        case .contradicts:
            stored = .contradicted
            return nil
        case .keeps:
            return transfer(of: candidate, isConfirmed: true, context)
        case .updates:
            break
        }
        var updated = candidate
        let now = Date()
        updated.head = CacheFields.updated(candidate.head, with: head, received: now)
        updated.requested = storer?.requested
        updated.received = now
        updated.request = request
        // `Vary` may have changed.
        updated.answer(SentFields(sent: request, context).variant(of: updated.head))
        let directives = CacheDirectives(updated.head.combined("Cache-Control"))
        if !CacheStorability.permitsStoring(updated.head, directives) || CacheFields.areTooMany(in: updated.head) {
            if let url = request.url { context.session.settings.cache?.remove(url) }
        } else {
            storer?.store(confirmed: updated, directives, context)
        }
        return transfer(of: updated, isConfirmed: true, context)
    }

    private func transfer(of stored: StoredResponse, isConfirmed: Bool, _ context: any StepContext) -> StoredTransfer {
        var stored = stored
        if !isConfirmed { stored.head = CacheFields.aged(stored.head, by: stored.age(now: Date())) }
        if let url = context.request?.url {
            // The key has no fragment, and is the same for all spellings. A program may have stored the response of another URL.
            let isOfRequest = StoredResponse.key(of: stored.url) == stored.key
            stored.url = isOfRequest ? url : stored.url.withFragment(of: url)
        }
        return StoredTransfer(stored, delegate: context)
    }

    // MARK: - Storing

    func accept(_ response: AcceptedResponse, into sink: any Sink, _ context: any StepContext) -> any Sink {
        guard let head = response.head else { return acceptReported(response, into: sink, context) }
        guard let demand, let request = response.request else { return sink }
        // A hidden task's server may not know what is current now (RFC 9111 §4.3.3), and the program hasn't seen its error.
        if context.owner.isHidden, CacheValidation.isInconclusive(head.status) { return sink }
        guard let storer, storer.isStorable(response, head, for: demand, context) else {
            dropSuperseded(by: head, to: request, context)
            return sink
        }
        return gather(CacheWrite.Entry(head: head, request: request, limit: storer.sizeLimit), into: sink, context)
    }

    /// A response that no server sent: the protocol class decides whether it may be stored, the cache which requests it answers.
    private func acceptReported(_ response: AcceptedResponse, into sink: any Sink, _ context: any StepContext)
        -> any Sink
    {
        reset()
        guard let request = response.request else { return sink }
        let head = StoredResponse.head(of: response.response.object)
        invalidate(by: head, to: request, context)
        guard response.storagePolicy != .notAllowed, Self.demand(of: request, context) != nil,
            let storer = CacheStorer(request, context)
        else { return sink }
        self.storer = storer
        let entry = CacheWrite.Entry(
            head: head,
            request: request,
            limit: storer.sizeLimit,
            storagePolicy: response.storagePolicy
        )
        return gather(entry, into: sink, context)
    }

    /// Returns the sink that gathers the body, or the one that already does.
    private func gather(_ entry: CacheWrite.Entry, into sink: any Sink, _ context: any StepContext) -> any Sink {
        storer?.write = .gathering(entry)
        if context.owner.isHidden { return BoundedSink(limit: entry.limit) }
        // A sink that collects the body itself needs no copy.
        guard sink.wholeBody == nil else { return sink }
        return TeeSink(sink, limit: entry.limit) { [weak self, weak context] in
            if let self, let context { leave(context) }
        }
    }

    /// `head` is the latest response to `request`, and isn't stored: a stored one would be older than what the program has seen.
    private func dropSuperseded(by head: ResponseHead, to request: URLRequest, _ context: any StepContext) {
        guard let demand, CacheStorability.supersedes(head, for: demand), let url = request.url,
            let cache = context.session.settings.cache
        else { return }
        // Nothing was found, so there is nothing to drop but what is on its way, or has been stored since the request was sent.
        if case .none = stored, !cache.pendingResponses.outdate(storer?.key ?? StoredResponse.key(of: url)) { return }
        cache.remove(url)
    }

    func end(_ ending: TransferEnding, of request: URLRequest, _ context: any StepContext) -> EndVerdict {
        guard let error = ending.error else {
            if !ending.mayBeCutShort { return store(context) }
            leave(context)
            return .pass
        }
        // A protocol class may have loaded the target of a redirect: then this step wasn't asked about it.
        guard case .candidate(let candidate, _) = stored, context.owner.shownResponse == nil, let demand,
            request.url.map(StoredResponse.key(of:)) == candidate.key, CacheValidation.isUnreachable(after: error.code),
            CacheValidation.standsInForError(candidate.head, candidate.freshness(now: Date()), for: demand)
        else { return .pass }
        return .load(transfer(of: candidate, isConfirmed: false, context))
    }

    /// A stored response may stand in for that of a server that doesn't respond.
    var handlesTimeOuts: Bool { true }

    /// Doesn't store the body, which is too large, or may be incomplete.
    private func leave(_ context: any StepContext) {
        guard let entry = storer?.write.takeEntry() else { return }
        dropSuperseded(by: entry.head, to: entry.request, context)
    }

    /// Stores the complete body. If storing is slow, the task's end waits for it.
    private func store(_ context: any StepContext) -> EndVerdict {
        guard let entry = storer?.write.takeEntry(), let storer, let response = context.owner.shownResponse,
            let url = response.url
        else { return .pass }
        // Without a whole body the task has become a download or stream task.
        guard let body = context.sink.wholeBody, body.count <= entry.limit else {
            dropSuperseded(by: entry.head, to: entry.request, context)
            return .pass
        }
        let stored = storer.response(entry, body, as: response, at: url, context)
        let isSlow = storer.store(stored, context) { context.owner.submit { self.wrote(context) } }
        guard isSlow else { return .pass }
        let deadline = Deadline { [unowned self, weak context] in if let context { wrote(context) } }
        self.storer?.write = .underWay(until: deadline)
        context.schedule(deadline, after: CacheStores.storeTimeout)
        return .wait
    }

    /// The response is written, which may no longer matter, or writing takes too long.
    private func wrote(_ context: any StepContext) {
        guard let deadline = storer?.write.takeDeadline() else { return }
        context.cancel(deadline)
        context.proceed(self)
    }

    func stop(_ context: any StepContext) {
        comparison?.stop(context)
        if case .underWay(_, let deadline) = lookup { context.cancel(deadline) }
        if let deadline = storer?.write.takeDeadline() { context.cancel(deadline) }
        (lookup, storer) = (.none, nil)
    }
}

extension SessionSettings {
    /// What `request` wants from the cache, by its own fields and those of the session.
    fileprivate func cacheDemand(of request: URLRequest) -> CacheDemand {
        CacheDemand(request, policy: cachePolicy(for: request), additional: additionalCacheHeaders)
    }
}
