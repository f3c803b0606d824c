import Foundation

// Redirects, and what the delegate makes of them. Everything on the loop.

extension TaskRunner {
    /// The response leads to `next`: at once where nobody wants to be asked. Within libcurl.
    func redirect(
        to next: URLRequest,
        by head: ResponseHead,
        of exchange: Exchange
    ) throws(URLError) -> Exchange.BodyRoute {
        if head.status == 303, exchange.request.httpMethod != "HEAD" { loading.hasLeftBody = true }
        guard delegates.task != nil else {
            loading.redirectCount += 1
            loading.nextRequest = next
            return .discard
        }
        let response = try httpResponse(head, to: exchange.request)
        let held = hold(head, of: exchange)
        post(
            .redirect(response, next) { [weak self] answer in
                guard let self else { return }
                submit { self.redirectAnswered(held, answer) }
            }
        )
        return .hold
    }

    /// The delegate's answer; only the first counts, and none after the task's end.
    private func redirectAnswered(_ held: HeldResponse, _ next: URLRequest?) {
        guard loading.held === held else { return }
        guard let next else { return deliver(held) }
        loading.redirectCount += 1
        drop(held, for: next)
    }
}
