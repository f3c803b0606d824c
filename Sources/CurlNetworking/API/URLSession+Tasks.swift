import Foundation

// How the public methods that make tasks make them.

extension URLSession {
    func makeDataTask(
        _ request: URLRequest,
        _ destination: TaskRunner.Destination,
        _ consumer: Consumer
    ) -> URLSessionDataTask {
        introduce(URLSessionDataTask(runner: makeRunner(request, destination, consumer)))
    }

    func makeUploadTask(
        _ request: URLRequest,
        _ body: TaskRunner.BodySource,
        _ destination: TaskRunner.Destination,
        _ consumer: Consumer
    ) -> URLSessionUploadTask {
        introduce(URLSessionUploadTask(runner: makeRunner(request, destination, consumer, body: body)))
    }

    func makeDownloadTask(_ request: URLRequest, _ consumer: Consumer) -> URLSessionDownloadTask {
        introduce(URLSessionDownloadTask(runner: makeRunner(request, .file, consumer)))
    }

    func makeDownloadTask(_ resumeData: Data, _ consumer: Consumer) -> URLSessionDownloadTask {
        introduce(URLSessionDownloadTask(runner: makeRunner(resumeData, consumer)))
    }

    /// A GET of `url` with the session's cache policy.
    func makeRequest(_ url: URL) -> URLRequest {
        URLRequest(url: url, cachePolicy: core.settings.cachePolicy)
    }

    func makeRunner(
        _ request: URLRequest,
        _ destination: TaskRunner.Destination,
        _ consumer: Consumer,
        body: TaskRunner.BodySource = .request
    ) -> TaskRunner {
        TaskRunner(
            identifier: core.makeTaskIdentifier(),
            session: core,
            request: request,
            body: body,
            destination: destination,
            consumer: consumer
        )
    }

    func makeRunner(_ resumeData: Data, _ consumer: Consumer) -> TaskRunner {
        let resumption = Result { () throws(URLError) in try ResumeData(decoding: resumeData) }
        return TaskRunner(
            identifier: core.makeTaskIdentifier(),
            session: core,
            request: (try? resumption.get())?.request,
            resumption: resumption,
            destination: .file,
            consumer: consumer
        )
    }

    /// Has the session know a new task, and keep it.
    func introduce<Task: URLSessionTask>(_ task: Task) -> Task {
        let identifier = task.taskIdentifier
        core.add(task, identifier: identifier)
        createdTasks.add(task, identifier: identifier)
        // It was invalidated meanwhile.
        if !core.isValid { createdTasks.remove(identifier) }
        announce(task, delegate: nil)
        return task
    }

    /// Gives a new task its delegate, and tells that or the session's of it.
    func announce(_ task: URLSessionTask, delegate: (any URLSessionTaskDelegate)?) {
        if let delegate { task.delegate = delegate }
        (delegate ?? core.delegates.task)?.urlSession(self, didCreateTask: task)
    }

    /// The tasks that are neither completed nor cancelled; upload tasks are not among the data tasks.
    var tasksByKind: ([URLSessionDataTask], [URLSessionUploadTask], [URLSessionDownloadTask]) {
        let tasks = core.tasks
        let uploads = tasks.compactMap { $0 as? URLSessionUploadTask }
        let data = tasks.filter { !($0 is URLSessionUploadTask) }.compactMap { $0 as? URLSessionDataTask }
        return (data, uploads, tasks.compactMap { $0 as? URLSessionDownloadTask })
    }
}

extension URLSessionConfiguration {
    /// Removes all cookies, cached responses and credentials. May write files, also after it has returned: see `SessionSettings.afterStorageWrites`.
    func emptyStorages() {
        if let urlCache { CacheStores.store(over: urlCache).removeAll() }
        if let httpCookieStorage { CookieStore.store(over: httpCookieStorage).removeAll() }
        if let urlCredentialStorage {
            for (space, credentials) in urlCredentialStorage.allCredentials {
                for credential in credentials.values { urlCredentialStorage.remove(credential, for: space) }
            }
        }
    }
}
