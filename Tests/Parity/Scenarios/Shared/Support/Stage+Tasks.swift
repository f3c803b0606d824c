import Foundation
import CurlNetworkingParityStage

// Sessions and single tasks, and what comes of them.
extension Stage {
    /// A session on an ephemeral configuration.
    func session(
        _ delegate: (any URLSessionDelegate)? = nil,
        queue: OperationQueue? = nil,
        _ configure: (URLSessionConfiguration) -> Void = { _ in }
    ) -> URLSession {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.useTransport()
        configure(configuration)
        return URLSession(configuration: configuration, delegate: delegate, delegateQueue: queue)
    }

    // MARK: - With a handler

    func load(_ url: URL, in session: URLSession? = nil) async {
        await load(URLRequest(url: url), in: session)
    }

    /// Runs a data task, and notes what its handler is given.
    func load(_ request: URLRequest, in session: URLSession? = nil) async {
        await handled { done in (session ?? self.session()).dataTask(with: request, completionHandler: done) }
    }

    /// Runs a data task, and notes its error alone: where libcurl's version decides whether a response comes before that.
    func fail(_ url: URL) async {
        await withCheckedContinuation { continuation in
            session().dataTask(with: url) { _, _, error in
                self.note("handler", Describe.error(error))
                continuation.resume()
            }.resume()
        }
    }

    func upload(_ request: URLRequest, from data: Data?, in session: URLSession? = nil) async {
        await handled { done in
            (session ?? self.session()).uploadTask(with: request, from: data, completionHandler: done)
        }
    }

    func upload(_ request: URLRequest, fromFile file: URL, in session: URLSession? = nil) async {
        await handled { done in
            (session ?? self.session()).uploadTask(with: request, fromFile: file, completionHandler: done)
        }
    }

    /// Runs the task that `make` makes with the handler it is given.
    func handled(
        _ make: (@escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void) -> URLSessionTask
    ) async {
        await withCheckedContinuation { continuation in
            make { data, response, error in
                self.note("handler", Describe.result(data, response, error))
                continuation.resume()
            }.resume()
        }
    }

    func download(_ url: URL, in session: URLSession? = nil) async {
        await download(URLRequest(url: url), in: session)
    }

    /// Runs a download task, and notes what its handler is given; the file's content counts, not its place.
    func download(_ request: URLRequest, in session: URLSession? = nil) async {
        await withCheckedContinuation { continuation in
            let session = session ?? self.session()
            session.downloadTask(with: request) { file, response, error in
                self.noteDownload(file, response, error)
                continuation.resume()
            }.resume()
        }
    }

    func noteDownload(_ file: URL?, _ response: URLResponse?, _ error: (any Error)?) {
        var details = Describe.response(response).merging(Describe.error(error)) { $1 }
        details["file"] = Describe.file(file)
        note("handler", details)
    }

    // MARK: - Async

    /// Notes what an async call returns or throws.
    func attempt(_ call: () async throws -> (Data, URLResponse)) async {
        do {
            let (data, response) = try await call()
            note("returned", Describe.result(data, response, nil))
        } catch {
            note("threw", Describe.error(error))
        }
    }

    /// Notes what an async download returns or throws.
    func attemptDownload(_ call: () async throws -> (URL, URLResponse)) async {
        do {
            let (file, response) = try await call()
            var details = Describe.response(response)
            details["file"] = Describe.file(file)
            note("returned", details)
        } catch {
            note("threw", Describe.error(error))
        }
    }

    /// What a task has counted.
    func noteCounters(_ task: URLSessionTask) {
        note(
            "counters",
            [
                "received": "\(task.countOfBytesReceived)/\(task.countOfBytesExpectedToReceive)",
                "sent": "\(task.countOfBytesSent)/\(task.countOfBytesExpectedToSend)",
            ]
        )
    }

    /// What a task says about itself.
    func note(_ task: URLSessionTask, as name: String) {
        note(
            name,
            [
                "state": Self.stateNames[task.state] ?? "unknown",
                "status": ((task.response as? HTTPURLResponse)?.statusCode).map { "\($0)" } ?? "none",
                "original": task.originalRequest?.url?.absoluteString ?? "none",
                "current": task.currentRequest?.url?.absoluteString ?? "none",
            ].merging(Describe.error(task.error)) { $1 }
        )
    }

    private static let stateNames: [URLSessionTask.State: String] = [
        .running: "running", .suspended: "suspended", .canceling: "canceling", .completed: "completed",
    ]
}

extension URLSessionTask {
    /// The task, with a lane of its own.
    func named(_ lane: String) -> Self {
        taskDescription = lane
        return self
    }
}

extension URLRequest {
    /// A request in one line.
    init(_ url: URL, _ method: String = "GET", headers: [String: String] = [:], body: Data? = nil) {
        self.init(url: url)
        httpMethod = method
        for (name, value) in headers { setValue(value, forHTTPHeaderField: name) }
        httpBody = body
    }

    init(_ url: URL, _ method: String, body: String) {
        self.init(url, method, body: Data(body.utf8))
    }
}
