import Foundation

// A response whose head has arrived and whose body is kept back until somebody says what becomes of it: the task's own, or
// dropped for the next request. Everything on the loop.

/// `@unchecked Sendable`: a question carries it as its name; it is touched on the loop alone.
final class HeldResponse: @unchecked Sendable {
    let head: ResponseHead
    let exchange: Exchange
    /// How the exchange ended, where it was over before the decision.
    private(set) var ending: Result<Void, URLError>?

    fileprivate init(_ head: ResponseHead, of exchange: Exchange) {
        self.head = head
        self.exchange = exchange
    }

    func exchangeFinished(_ error: URLError?) {
        ending = error.map { .failure($0) } ?? .success(())
    }
}

extension TaskRunner {
    /// Keeps the response back; the exchange's route is to be `.hold`. Within libcurl.
    func hold(_ head: ResponseHead, of exchange: Exchange) -> HeldResponse {
        let held = HeldResponse(head, of: exchange)
        loading.held = held
        shared.withLock { $0.machine.setHeld(true) }
        return held
    }

    /// The response is the task's own after all.
    func deliver(_ held: HeldResponse) {
        do throws(URLError) {
            let route = try deliver(held.head, of: held.exchange)
            release(held, to: route)
        } catch {
            finish(.failure(error))
        }
    }

    /// The response is dropped, and `next` sent.
    func drop(_ held: HeldResponse, for next: URLRequest) {
        loading.nextRequest = next
        release(held, to: .discard)
    }

    /// The exchange has failed, and that is the task's end after all.
    func giveUp(_ held: HeldResponse) {
        release(held, to: .discard)
    }

    private func release(_ held: HeldResponse, to route: Exchange.BodyRoute) {
        loading.held = nil
        shared.withLock { $0.machine.setHeld(false) }
        switch held.ending {
        case nil:
            held.exchange.proceed(to: route)
            runOnLoop()
        case .success: goOn(after: held.exchange, nil)
        case .failure(let error): goOn(after: held.exchange, error)
        }
    }
}
