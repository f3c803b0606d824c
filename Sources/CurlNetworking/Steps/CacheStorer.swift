import CurlTransport
import Foundation

/// The storing of one response in the cache (RFC 9111 §3), from the request that it answers. Loop only.
struct CacheStorer {
    private let cache: any CacheStore
    private let pending: PendingResponse
    /// Which requests the response may answer, judging by its connection.
    private var connectionAudience = CacheAudience.everyone
    var write = CacheWrite.none

    /// For a response that no server sends. nil without a cache.
    init?(_ request: URLRequest, _ context: any StepContext) {
        guard let cache = context.session.settings.cache, let url = request.url else { return nil }
        self.cache = cache
        pending = cache.pendingResponses.begin(StoredResponse.key(of: url))
    }

    /// For a request that is about to be sent. nil without a cache.
    init?(_ plan: TransferPlan, _ context: any StepContext) {
        self.init(plan.request, context)
        connectionAudience = Self.audience(of: plan, context)
    }

    /// Judged before the request is sent: a delegate's decisions may be forgotten before the response arrives.
    private static func audience(of plan: TransferPlan, _ context: any StepContext) -> CacheAudience {
        guard let origin = plan.ticket?.origin, origin.usesTLS else { return .everyone }
        guard context.isVerified(origin) else { return .nobody }
        return context.showsIdentity(to: origin) ? .everyoneIfPublic : .everyone
    }

    /// The key of the request's URL.
    var key: String { pending.key }
    /// When the request was sent.
    var requested: Date { pending.requested }
    /// The largest body that is stored, in bytes.
    var sizeLimit: Int { cache.sizeLimit }

    /// The program's own options may have changed whose response it is.
    mutating func distrustConnection() {
        connectionAudience = .nobody
    }

    /// By the connection, and by the credentials in the request.
    private func audience(_ context: any StepContext) -> CacheAudience {
        if case .everyone = connectionAudience, context.steps.authentication.hasShownServerCredentials {
            return .everyoneIfPublic
        }
        return connectionAudience
    }

    /// Whether the response with `head` is stored once its body is complete.
    func isStorable(
        _ response: AcceptedResponse,
        _ head: ResponseHead,
        for demand: CacheDemand,
        _ context: any StepContext
    ) -> Bool {
        CacheStorability.isStorable(head, for: demand, audience: audience(context))
            && response.storagePolicy != .notAllowed && response.expected <= sizeLimit
            // A stored one would come undivided.
            && !BodyParts.canDivide(head)
    }

    /// Stores `updated`, the stored response as the server has confirmed it, with those directives.
    func store(confirmed updated: StoredResponse, _ directives: CacheDirectives, _ context: any StepContext) {
        guard audience(context).permitsStoring(directives) else { return }
        pending.store { cache.store(updated) }
    }

    /// The complete response with its body.
    ///
    /// - Parameter response: As it was shown.
    func response(
        _ entry: CacheWrite.Entry,
        _ body: Data,
        as response: TaskResponse,
        at url: URL,
        _ context: any StepContext
    ) -> StoredResponse {
        var stored = StoredResponse(
            key: key,
            url: url,
            form: response.status == nil ? StoredResponse.form(of: response.object) : .http,
            head: entry.head.stored,
            requested: requested,
            received: entry.received,
            data: body,
            storagePolicy: entry.storagePolicy,
            request: entry.request
        )
        stored.answer(SentFields(sent: entry.request, context).variant(of: entry.head))
        return stored
    }

    /// Stores the complete response, unless the delegate objects. If this returns true, the task should wait: `completion` is called on a
    /// queue of the cache once the response is written.
    func store(
        _ stored: StoredResponse,
        _ context: any StepContext,
        orWait completion: @escaping @Sendable () -> Void
    ) -> Bool {
        guard context.owner.tellsDelegateOfResult, context.owner.delegates.data != nil else {
            return pending.store { cache.store(stored, orWait: completion) } ?? false
        }
        context.owner.ask(
            .willCache(stored) { [cache, pending] in Self.store($0, insteadOf: stored, pending, in: cache) }
        )
        return false
    }

    /// Stores what the delegate answered when it was asked about `stored`. Delegate queue.
    private static func store(
        _ answer: CachedURLResponse?,
        insteadOf stored: StoredResponse,
        _ pending: PendingResponse,
        in cache: any CacheStore
    ) {
        if let answer = stored.replaced(by: answer) {
            pending.store { cache.store(answer) }
        } else if pending.isCurrent, let url = stored.request?.url {
            cache.remove(url)
        }
    }
}
