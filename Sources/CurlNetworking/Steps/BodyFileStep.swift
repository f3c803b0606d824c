import Foundation

/// Opens an upload's file for each request that sends it: on another thread, since file systems may take any time, and only once the
/// request has its place, since a program may have more uploads waiting than it can have open files.
///
/// `@unchecked Sendable`: used on the loop only.
final class BodyFileStep: Step, @unchecked Sendable {
    private enum State {
        /// The next request needs it.
        case closed
        case opening
        case opened(Result<ReadableFile, URLError>)
    }

    private let url: URL
    /// The file as it was when the task was made, however long ago; nil if it may be in any state. Only an agent's tasks have it.
    private let expected: UploadedFile?
    private var state = State.closed
    /// The file as the latest request sends it.
    private(set) var description: UploadedFile?

    init(_ url: URL, expecting expected: UploadedFile? = nil) {
        self.url = url
        self.expected = expected
    }

    func complete(_ context: any StepContext) -> CompletionVerdict {
        switch state {
        case .opened: return .pass
        case .opening: return .wait
        case .closed: break
        }
        guard let request = context.request else { return .pass }
        let part = context.part(of: request)
        guard context.owner.body.isUsed(part, with: request, after: context.steps.redirect) else { return .pass }
        state = .opening
        let resumption = context.steps.upload?.resumption
        WorkThreads.namedFiles.run { [self, url] in
            let file = Result { () throws(URLError) in try ReadableFile(url, for: request.url) }
                .mapError { resumption?.hasLostBody == true ? KeptBody.gone(request.url) : $0 }
            context.owner.submit { self.opened(file, context) }
        }
        return .wait
    }

    private func opened(_ file: Result<ReadableFile, URLError>, _ context: any StepContext) {
        guard case .opening = state else { return }
        state = .opened(file)
        context.proceed(self)
    }

    /// The file for the transfer that is about to be made; nil if it sends none of it. Throws if it can't be sent.
    func take() throws(URLError) -> ReadableFile? {
        guard case .opened(let result) = state else { return nil }
        state = .closed
        let file = try result.get()
        description = file.description
        return file
    }

    func encode(_ plan: TransferPlan, _ context: any StepContext) throws(URLError) {
        guard plan.body != nil, let expected else { return }
        let problem = "The file to upload has been changed since the task was made."
        try expected.check(description, for: plan.request.url, otherwise: problem)
    }

    func stop(_ context: any StepContext) {
        state = .closed
    }
}
