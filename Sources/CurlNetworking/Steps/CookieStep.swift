import CurlTransport
import Foundation

/// The cookies of a task's requests and responses (RFC 6265bis).
///
/// `@unchecked Sendable`: used on the loop only.
final class CookieStep: Step, @unchecked Sendable {
    private enum Lookup {
        case none
        case underWay
        case found(String?)
    }

    /// The jar in place of the session's storage; nil for that storage.
    private let own: (any CookieJar)?
    private var lookup = Lookup.none
    /// The storage's part of the next request's `Cookie` field.
    private(set) var field: String?
    /// How many responses' cookies are being stored, and the actions that wait for that.
    private var writes = 0
    private var afterWrites: [() -> Void] = []

    init(own: (any CookieJar)? = nil) {
        self.own = own
    }

    /// The task's own jar, if it has one, or else the session's; nil if the session uses no cookies.
    private func jar(_ store: CookieStore?) -> (any CookieJar)? {
        store.map { own ?? $0 }
    }

    /// Whether cookies of a response are still being stored.
    var isStoring: Bool { writes > 0 }

    // MARK: - Sending

    /// Runs late, since other tasks may have received cookies while this one waited for its place.
    func complete(_ context: any StepContext) -> CompletionVerdict {
        switch lookup {
        case .found(let found):
            lookup = .none
            field = found
            return .pass
        case .underWay:
            return .wait
        case .none:
            break
        }
        guard let request = context.request else { return .pass }
        if case .found(let found) = find(for: request, context) {
            field = found
            return .pass
        }
        lookup = .underWay
        read(for: request, context) { [weak self, weak context] found in
            guard let self, let context else { return }
            lookup = .found(found)
            context.proceed(self)
        }
        return .wait
    }

    func encode(_ plan: TransferPlan, _ context: any StepContext) {
        if let field { plan.options?.addCookies(field) }
    }

    /// Calls `completion` on the loop with the value of the `Cookie` field that the storage adds to `request`, or nil: at once if that is
    /// known, otherwise later.
    func find(for request: URLRequest, _ context: any StepContext, _ completion: @escaping @Sendable (String?) -> Void)
    {
        if case .found(let field) = find(for: request, context) {
            completion(field)
        } else {
            read(for: request, context, completion)
        }
    }

    /// The same, always later.
    func read(for request: URLRequest, _ context: any StepContext, _ completion: @escaping @Sendable (String?) -> Void)
    {
        guard let jar = jar(context.session.settings.sentCookies), let url = request.url else {
            return context.owner.submit { completion(nil) }
        }
        let submit: @Sendable (String?) -> Void = { field in context.owner.submit { completion(field) } }
        if writes > 0 {
            jar.findCookieField(afterStoringFor: url, completion: submit)
        } else {
            jar.findCookieField(for: url, completion: submit)
        }
    }

    /// The same, as far as it is known at once.
    func find(for request: URLRequest, _ context: any StepContext) -> CookieLookup {
        guard let jar = jar(context.session.settings.sentCookies), request.httpShouldHandleCookies,
            let url = request.url
        else {
            return .found(nil)
        }
        // The index may lack what the previous hop set.
        return writes > 0 ? .busy : jar.cookieField(for: url)
    }

    // MARK: - Storing

    /// Stores a response's cookies, if it sets any. The response isn't shown until the store reports that they are stored, so that the next
    /// request carries them.
    func receive(_ received: ReceivedHead, _ context: any StepContext) -> HeadVerdict {
        let (head, request) = (received.head, received.request)
        guard let jar = jar(context.session.settings.storedCookies), head.fields.contains("Set-Cookie"),
            request.httpShouldHandleCookies, let url = request.url
        else { return .pass }
        let fields = head.fields.values(of: "Set-Cookie")
        writes += 1
        context.owner.holdDelivery()
        jar.store(
            fields,
            from: url,
            mainDocument: request.mainDocumentURL,
            policy: context.session.settings.cookieAcceptPolicy
        ) {
            context.owner.submit { self.stored(context) }
        }
        return .pass
    }

    private func stored(_ context: any StepContext) {
        writes -= 1
        if writes == 0 { stopWaiting(context) }
    }

    /// Runs `action` now, or once all earlier cookies are stored.
    func afterWrites(_ action: @escaping () -> Void) {
        if writes == 0 { action() } else { afterWrites.append(action) }
    }

    /// Also called for a cancelled task: it shows no response, so no cookies need to be stored first.
    func stopWaiting(_ context: any StepContext) {
        let actions = afterWrites
        afterWrites = []
        for action in actions { action() }
        context.owner.releaseDelivery()
    }
}

extension TransferOptions {
    /// Adds stored cookies after those of a `Cookie` field that the program has set; if both have the same name, the program's counts.
    mutating func addCookies(_ stored: String) {
        guard let index = headers.firstIndex(where: { $0.isLine(ofField: "Cookie") }) else {
            headers.append("Cookie: " + stored)
            return
        }
        let name = headers[index].fieldName
        let own = headers[index].dropFirst(name.count + 1)
        headers[index] = "\(name): \(CookieField.merge(own, with: stored))"
    }
}
