import Foundation

/// Follows redirects, and asks the delegate about them.
///
/// `@unchecked Sendable`: used on the loop only.
final class RedirectStep: Step, @unchecked Sendable {
    /// How many redirects were followed.
    private(set) var count = 0
    /// Whether one of them was a 303, which drops the body (RFC 9110 §15.4.4).
    private(set) var hasLeftBody = false
    /// The redirect the delegate is being asked about.
    private var asked: HoldToken?

    func receive(_ received: ReceivedHead, _ context: any StepContext) throws(URLError) -> HeadVerdict {
        let (next, refusal): (URLRequest, URLError?)
        switch context.redirectDecision(for: received, count: count) {
        case .deliver: return .pass
        case .fail(let error): throw error
        case .follow(let request): (next, refusal) = (request, nil)
        case .refuse(let request, let error): (next, refusal) = (request, error)
        }
        noteBody(of: next, from: received.request, after: received.head.status)
        guard context.owner.delegates.task != nil else {
            if let refusal { throw refusal }
            return .follow(counted(next))
        }
        guard let url = received.request.url else { throw .senselessHead(nil) }
        return .hold(ask(about: TaskResponse(received.head, at: url), next, refusal, context))
    }

    /// A program's protocol class has reported a redirect to `request`.
    func report(
        _ request: URLRequest,
        from old: URLRequest?,
        by response: URLResponse,
        _ context: any StepContext
    ) throws(URLError) -> RedirectVerdict {
        let next = try RedirectPolicy.reported(request, from: old, count: count)
        noteBody(of: next, from: old, after: (response as? HTTPURLResponse)?.statusCode)
        // The delegate's method only takes HTTP responses.
        guard context.owner.delegates.task != nil, let response = response as? HTTPURLResponse else {
            return .follow(counted(next))
        }
        return .ask(ask(about: TaskResponse(response), next, nil, context), response)
    }

    /// Notes whether the redirect from `old` to `next` has dropped the body. A protocol class may have kept it in spite of the 303.
    private func noteBody(of next: URLRequest, from old: URLRequest?, after status: Int?) {
        guard status == 303, old?.httpMethod != "HEAD", next.httpBody == nil, next.httpBodyStream == nil else { return }
        hasLeftBody = true
    }

    private func counted(_ next: URLRequest) -> URLRequest {
        count += 1
        return next
    }

    /// - Parameter refusal: What the task fails with if the answer's scheme is that of `next`; nil if `next` may be followed.
    private func ask(
        about response: TaskResponse,
        _ next: URLRequest,
        _ refusal: URLError?,
        _ context: any StepContext
    ) -> HoldToken {
        let held = HoldToken()
        asked = held
        context.owner.ask(
            .redirect(response, next) { [weak self, weak context] answer in
                guard let self, let context else { return }
                var result = Result<URLRequest?, URLError>.success(answer)
                if let refusal, let answer, RedirectPolicy.isRefused(answer, like: next) { result = .failure(refusal) }
                context.owner.submit { [result] in self.answered(held, result, context) }
            }
        )
        return held
    }

    /// Only the first answer counts, and none after the task's end.
    private func answered(_ held: HoldToken, _ answer: Result<URLRequest?, URLError>, _ context: any StepContext) {
        guard asked === held else { return }
        asked = nil
        switch answer {
        case .success(let next?): context.release(held, .follow(counted(next)))
        case .success(nil): context.release(held, .pass)
        case .failure(let refusal): context.fail(refusal)
        }
    }

    func stop(_ context: any StepContext) {
        asked = nil
    }
}

/// What follows a redirect reported by a program's protocol class.
enum RedirectVerdict {
    case follow(URLRequest)
    /// The delegate is asked: the response is held until the step calls `StepContext.release(_:_:)`.
    case ask(HoldToken, HTTPURLResponse)
}
