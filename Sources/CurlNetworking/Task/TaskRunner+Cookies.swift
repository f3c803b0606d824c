import Curl
import Foundation

// The cookies of a task's requests and responses. Everything on the loop.

extension TaskRunner {
    /// What the loop knows of the task's cookies.
    struct Cookies {
        /// The value of the next exchange's `Cookie` field, as far as it comes from the storage.
        var field: String?
        /// How many responses' cookies are being stored, and what waits for that.
        var writes = 0
        var afterWrites: [() -> Void] = []
    }

    /// Starts the exchange, once the cookies it carries are known: at once, unless the storage has to be read for them elsewhere.
    func startExchangeWithCookies(_ request: URLRequest) throws(URLError) {
        guard case .found(let field) = storedCookies(for: request) else {
            return findStoredCookies(for: request) { self.cookiesArrived($0, for: request) }
        }
        loading.cookies.field = field
        try startExchange(request)
    }

    /// Calls `completion` with the value of the `Cookie` field that the storage adds to `request`, or nil: at once if that is known, else
    /// later. On the loop.
    func findStoredCookies(for request: URLRequest, _ completion: @escaping @Sendable (String?) -> Void) {
        if case .found(let field) = storedCookies(for: request) { return completion(field) }
        guard let store = session.settings.sentCookies, let url = request.url else { return completion(nil) }
        let submit: @Sendable (String?) -> Void = { field in self.submit { completion(field) } }
        if loading.cookies.writes > 0 {
            store.findCookieField(afterStoringFor: url, completion: submit)
        } else {
            store.findCookieField(for: url, completion: submit)
        }
    }

    /// The same, as far as it is known at once.
    func storedCookies(for request: URLRequest) -> CookieStore.Lookup {
        guard let store = session.settings.sentCookies, request.httpShouldHandleCookies, let url = request.url else {
            return .found(nil)
        }
        // The index need not have what the hop before has set.
        return loading.cookies.writes > 0 ? .busy : store.cookieField(for: url)
    }

    private func cookiesArrived(_ field: String?, for request: URLRequest) {
        guard case .loading(let isPaused) = shared.withLock({ $0.machine.stage }), loading.exchange == nil else {
            return
        }
        loading.cookies.field = field
        do throws(URLError) {
            try startExchange(request)
        } catch {
            return finish(.failure(error))
        }
        if isPaused, loading.exchange?.setPaused(true) == false { shared.withLock { $0.machine.pauseFailed() } }
    }

    // MARK: - Storing

    /// Has the cookies of a response stored, if it sets any. The response isn't shown until the store says that they are, so that the next
    /// request carries them. Within libcurl.
    func storeCookies(of head: ResponseHead, to request: URLRequest) {
        guard let store = session.settings.storedCookies, head.fields.contains("Set-Cookie"),
            request.httpShouldHandleCookies, let url = request.url
        else { return }
        let fields = head.fields.filter { $0.name.isEqualIgnoringASCIICase(to: "Set-Cookie") }.map(\.value)
        loading.cookies.writes += 1
        shared.withLock { $0.mailbox.hold() }
        store.store(
            fields,
            from: url,
            mainDocument: request.mainDocumentURL,
            policy: session.settings.cookieAcceptPolicy
        ) {
            self.submit { self.cookiesStored() }
        }
    }

    private func cookiesStored() {
        loading.cookies.writes -= 1
        guard loading.cookies.writes == 0 else { return }
        for action in loading.cookies.afterWrites { action() }
        loading.cookies.afterWrites = []
        if shared.withLock({ $0.mailbox.release() }) { scheduleDeliveryAtEndOfRound() }
    }

    /// Does `action` now, or once the cookies that came before it are stored.
    func afterCookieWrites(_ action: @escaping () -> Void) {
        if loading.cookies.writes == 0 { action() } else { loading.cookies.afterWrites.append(action) }
    }

    /// A cancelled task shows no response that its cookies would have to precede.
    func stopWaitingForCookieWrites() {
        let actions = loading.cookies.afterWrites
        loading.cookies.afterWrites = []
        for action in actions { action() }
        if shared.withLock({ $0.mailbox.release() }) { scheduleDeliveryAtEndOfRound() }
    }
}

extension TransferOptions {
    /// Adds stored cookies, behind those of a `Cookie` field that the program has set; of two with one name the program's
    /// counts.
    mutating func addCookies(_ stored: String) {
        let prefix = "Cookie:"
        let index = headers.firstIndex { String($0.prefix(prefix.count)).isEqualIgnoringASCIICase(to: prefix) }
        guard let index else {
            headers.append("Cookie: " + stored)
            return
        }
        let own = headers[index]
        headers[index] = own.prefix(prefix.count) + CookieField.merge(String(own.dropFirst(prefix.count)), with: stored)
    }
}
