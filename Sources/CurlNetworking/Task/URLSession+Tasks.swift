import Foundation

// The implementation of the public methods that create tasks.

extension URLSession {
    func makeDataTask(_ request: URLRequest, _ consumer: Consumer) -> URLSessionDataTask {
        introduce(URLSessionDataTask(engine: makeEngine(request, consumer)))
    }

    func makeUploadTask(
        _ request: URLRequest,
        _ body: TaskBody.Source,
        _ consumer: Consumer
    ) -> URLSessionUploadTask {
        introduce(URLSessionUploadTask(engine: makeEngine(request, consumer, body: body)))
    }

    func makeDownloadTask(_ request: URLRequest, _ consumer: Consumer) -> URLSessionDownloadTask {
        introduce(URLSessionDownloadTask(engine: makeEngine(request, consumer)))
    }

    func makeDownloadTask(_ resumeData: Data, _ consumer: Consumer) -> URLSessionDownloadTask {
        introduce(URLSessionDownloadTask(engine: makeEngine(resumeData, consumer)))
    }

    /// A GET for `url` with the session's cache policy.
    func makeRequest(_ url: URL) -> URLRequest {
        URLRequest(url: url, cachePolicy: core.settings.cachePolicy)
    }

    func makeEngine(
        _ request: URLRequest,
        _ consumer: Consumer,
        body: TaskBody.Source = .request
    ) -> any TaskEngine {
        if core.isBackground { return makeBackgroundEngine(request, consumer, body: body) }
        return TaskHandle(
            identifier: core.makeTaskIdentifier(),
            session: core,
            request: request,
            body: body,
            consumer: consumer
        )
    }

    func makeStreamEngine(_ host: String, _ port: Int) -> any TaskEngine {
        // Stands in for the request of other tasks; nil if there can be no such host.
        let request = Origin.ofStream(host: host, port: port)
            .flatMap { URL(string: "\(Scheme.tcp.rawValue)://\(HostSpelling.bracketed($0.host)):\($0.port)") }
            .map { URLRequest(url: $0) }
        return TaskHandle(
            identifier: core.makeTaskIdentifier(),
            session: core,
            request: request,
            consumer: .stream(StreamPort()),
            makeSteps: makeSteps(forTasksCalled: "Stream tasks", request) { Steps(ofStream: $0, $1) }
        )
    }

    func makeEngine(_ resumeData: Data, _ consumer: Consumer) -> any TaskEngine {
        do throws(URLError) {
            let decoded = try ResumeData(decoding: resumeData)
            let request = decoded.request.urlRequest
            if core.isBackground { return makeBackgroundEngine(request, consumer, resumeData: resumeData) }
            return TaskHandle(
                identifier: core.makeTaskIdentifier(),
                session: core,
                request: request,
                startingAt: .download(decoded),
                consumer: consumer
            )
        } catch {
            return makeEngine(refusing: error, consumer)
        }
    }

    /// A resumed task whose resume data can't be used.
    func makeEngine(
        refusing error: URLError,
        _ consumer: Consumer,
        body: TaskBody.Source = .request
    ) -> any TaskEngine {
        TaskHandle(
            identifier: core.makeTaskIdentifier(),
            session: core,
            request: nil,
            body: body,
            startingAt: .invalid(error),
            consumer: consumer
        )
    }

    /// Gives a new task its delegate, adds it to the session's list, and tells that delegate or the session's about it, which may end the
    /// session in that call.
    func introduce<Task: URLSessionTask>(_ task: Task, delegate: (any URLSessionTaskDelegate)? = nil) -> Task {
        if let delegate { task.delegate = delegate }
        core.add(task, identifier: task.taskIdentifier)
        guard delegate != nil || core.hasTaskDelegate else { return task }
        (delegate ?? core.delegates.task)?.urlSession(self, didCreateTask: task)
        return task
    }
}
