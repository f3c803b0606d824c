import Foundation

// How background sessions get their tasks.

extension URLSession {
    /// Looks for the tasks that an earlier program made in a background session. A fault in the session is reported once; its tasks then
    /// fail with the same text.
    func beginBackgroundTasks() {
        guard let identifier = core.configuration.identifier else { return }
        let delegate = core.delegates.base
        if let fault = BackgroundRules.fault(of: core.configuration, hasDelegate: delegate != nil) {
            return StandardError.write("CurlNetworking: \(fault)")
        }
        let client = BackgroundClient(core, identifier: identifier, delegate: delegate)
        core.remote = client
        client.begin()
    }

    /// The steps of a task done in this process; in a background session, a step that fails it.
    func makeSteps(
        forTasksCalled kind: String,
        _ request: URLRequest?,
        _ steps: @escaping @Sendable (SessionSettings, Steps.Facts) -> Steps
    ) -> @Sendable (SessionSettings, Steps.Facts) -> Steps {
        guard core.isBackground else { return steps }
        let refusal = BackgroundRules.refusal(of: kind, request?.url)
        return { _, _ in Steps([RefusalStep(refusal)]) }
    }

    /// A task that the agent does, or one that fails because no agent can.
    func makeBackgroundEngine(
        _ request: URLRequest,
        _ consumer: Consumer,
        body: TaskBody.Source = .request,
        resumeData: Data? = nil,
        upload: UploadResumption? = nil
    ) -> any TaskEngine {
        let identifier = core.makeTaskIdentifier()
        let refusal: URLError
        switch BackgroundRules.kind(request, consumer, body) {
        case .success(let kind):
            if let client = core.remote as? BackgroundClient {
                return BackgroundEngine(
                    identifier: identifier,
                    client,
                    in: core,
                    request,
                    kind,
                    resumeData: resumeData,
                    upload: upload
                )
            }
            let fault = BackgroundRules.fault(of: core.configuration, hasDelegate: core.delegates.base != nil)
            refusal = URLError(.unknown, request.url, fault ?? "The background session has no agent.")
        case .failure(let error):
            refusal = error
        }
        return TaskHandle(
            identifier: identifier,
            session: core,
            request: request,
            body: body,
            consumer: consumer,
            makeSteps: { _, _ in Steps([RefusalStep(refusal)]) }
        )
    }
}
