import Foundation

/// What the end of a task waits for.
extension Steps {
    /// The cookie step, if it is still storing cookies of earlier responses.
    var storingCookies: CookieStep? { cookies.flatMap { $0.isStoring ? $0 : nil } }

    /// Calls `completion` when the outcome may be told, now or later: once a failed upload's resume data is ready, and all cookies are
    /// stored.
    ///
    /// - Parameters:
    ///   - isResumable: Whether an upload that fails may be continued later.
    ///   - resumeData: A download's.
    func settle(
        _ outcome: Outcome,
        isResumable: Bool,
        resumeData: Data?,
        _ context: any StepContext,
        _ completion: @escaping @Sendable (Outcome, _ resumeData: Data?) -> Void
    ) {
        guard case .failure(let error) = outcome, isResumable, let upload else {
            return settleCookies(outcome, resumeData, context, completion)
        }
        upload.makeResumeData(context) {
            settleCookies(.failure($0.map(error.with(uploadResumeData:)) ?? error), $0, context, completion)
        }
    }

    private func settleCookies(
        _ outcome: Outcome,
        _ resumeData: Data?,
        _ context: any StepContext,
        _ completion: @escaping @Sendable (Outcome, Data?) -> Void
    ) {
        guard let cookies = storingCookies else { return completion(outcome, resumeData) }
        guard outcome.error?.code == .cancelled else {
            return cookies.afterWrites { completion(outcome, resumeData) }
        }
        cookies.stopWaiting(context)
        completion(outcome, resumeData)
    }
}
