import Foundation

/// Follows redirects, and asks the delegate about them.
///
/// `@unchecked Sendable`: used on the loop only.
final class RedirectStep: Step, @unchecked Sendable {
    /// How many were followed.
    private(set) var count = 0
    /// One of them was a 303, which leaves the body behind (RFC 9110 §15.4.4).
    private(set) var hasLeftBody = false
    /// The redirect the delegate is being asked about.
    private var asked: HeldResponse?

    func receive(_ received: ReceivedHead, _ host: any StepHost) throws(URLError) -> HeadVerdict {
        let (next, refusal): (URLRequest, URLError?)
        switch host.redirectDecision(for: received, count: count) {
        case .deliver: return .pass
        case .fail(let error): throw error
        case .follow(let request): (next, refusal) = (request, nil)
        case .refuse(let request, let error): (next, refusal) = (request, error)
        }
        if received.head.status == 303, received.request.httpMethod != "HEAD" { hasLeftBody = true }
        guard host.owner.delegates.task != nil else {
            if let refusal { throw refusal }
            return .follow(counted(next))
        }
        return .hold(ask(about: try received.head.response(to: received.request), next, refusal, host))
    }

    /// A program's protocol class has reported a redirect to `request`.
    func report(
        _ request: URLRequest,
        from old: URLRequest?,
        by response: URLResponse,
        _ host: any StepHost
    ) throws(URLError) -> RedirectVerdict {
        let next = try RedirectPolicy.reported(request, from: old, count: count)
        // The delegate's method only takes HTTP responses.
        guard host.owner.delegates.task != nil, let response = response as? HTTPURLResponse else {
            return .follow(counted(next))
        }
        return .ask(ask(about: response, next, nil, host), response)
    }

    private func counted(_ next: URLRequest) -> URLRequest {
        count += 1
        return next
    }

    /// - Parameter refusal: What the task fails with if the answer's scheme is that of `next`; nil if `next` may be followed.
    private func ask(
        about response: HTTPURLResponse,
        _ next: URLRequest,
        _ refusal: URLError?,
        _ host: any StepHost
    ) -> HeldResponse {
        let held = HeldResponse()
        asked = held
        host.owner.ask(
            .redirect(response, next) { [weak self, weak host] answer in
                guard let self, let host else { return }
                var result = Result<URLRequest?, URLError>.success(answer)
                if let refusal, let answer, RedirectPolicy.isRefused(answer, like: next) { result = .failure(refusal) }
                host.owner.submit { [result] in self.answered(held, result, host) }
            }
        )
        return held
    }

    /// Only the first answer counts, and none after the task's end.
    private func answered(_ held: HeldResponse, _ answer: Result<URLRequest?, URLError>, _ host: any StepHost) {
        guard asked === held else { return }
        asked = nil
        switch answer {
        case .success(let next?): host.release(held, .follow(counted(next)))
        case .success(nil): host.release(held, .pass)
        case .failure(let refusal): host.fail(refusal)
        }
    }

    func stop(_ host: any StepHost) {
        asked = nil
    }
}

/// What follows a redirect that a program's protocol class has reported.
enum RedirectVerdict {
    case follow(URLRequest)
    /// The delegate is asked: the response is held until the step calls `StepHost.release(_:_:)`.
    case ask(HeldResponse, HTTPURLResponse)
}
