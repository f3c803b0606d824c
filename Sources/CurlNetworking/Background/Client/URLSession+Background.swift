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
    ///
    /// - Parameters:
    ///   - resumeData: What a download continues.
    ///   - upload: What an upload continues.
    func makeBackgroundEngine(
        _ request: URLRequest,
        _ consumer: Consumer,
        body: TaskBody.Source = .request,
        resumeData: Data? = nil,
        upload: BackgroundWork.ResumedUpload? = nil
    ) -> any TaskEngine {
        let identifier = core.makeTaskIdentifier()
        do throws(URLError) {
            let work: BackgroundWork =
                switch try BackgroundRules.kind(request, consumer, body) {
                case .download: .download(continuing: resumeData)
                case .upload(let file): .upload(file, continuing: upload)
                }
            let client = try findAgent(forTaskOf: request)
            return BackgroundEngine(identifier: identifier, client: client, in: core, request: request, work: work)
        } catch {
            return TaskHandle(
                identifier: identifier,
                session: core,
                request: request,
                body: body,
                consumer: consumer,
                makeSteps: { _, _ in Steps([RefusalStep(error)]) }
            )
        }
    }

    /// The client whose agent can do a task. Throws the error that the task fails with if there is none.
    private func findAgent(forTaskOf request: URLRequest) throws(URLError) -> BackgroundClient {
        if let client = core.remote as? BackgroundClient { return client }
        let fault = BackgroundRules.fault(of: core.configuration, hasDelegate: core.delegates.base != nil)
        throw URLError(.unknown, url: request.url, fault ?? "The background session has no agent.")
    }
}
