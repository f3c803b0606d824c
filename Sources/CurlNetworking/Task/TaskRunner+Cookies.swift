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

    /// Starts the exchange, once the cookies it carries are known: at once, unless cookies are just being written.
    func startExchangeWithCookies(_ request: URLRequest) throws(URLError) {
        guard let store = session.settings.sentCookies, request.httpShouldHandleCookies, let url = request.url else {
            loading.cookies.field = nil
            return try startExchange(request)
        }
        switch store.cookieField(for: url) {
        case .found(let field):
            loading.cookies.field = field
            try startExchange(request)
        case .busy:
            store.findCookieField(for: url) { field in
                self.submit { self.cookiesArrived(field, for: request) }
            }
        }
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

    /// Has the cookies of a response stored, if it sets any. Until they are, nobody hears of the response: who has heard of it
    /// finds them in the storage. Within libcurl.
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
