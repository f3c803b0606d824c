import Foundation

/// A step of a task's end: each is told in a message of its own, in this order.
enum TaskEnd: Sendable {
    /// A download's file, for the delegate.
    case downloaded(DownloadedFile)
    case metrics(TaskMetrics)
    /// The result, for the delegate, the handler or the Swift task that waits for it.
    case result(Result<Outcome, URLError>, URLResponse?)
    /// The result was handed over before.
    case over
}

extension TaskRunner {
    /// The task is over: what is to be told of that. Delegate queue; once in a task's life.
    func endSteps(of task: URLSessionTask, to delegates: DelegateSet) -> [TaskEnd] {
        let (consumer, metrics) = shared.withLock { ($0.consumer, $0.metrics.take()) }
        let metricsStep = delegates.task == nil ? nil : metrics.map(TaskEnd.metrics)
        switch consumer {
        case .informed:
            return [metricsStep, .over].compactMap { $0 }
        case .delegate:
            let (result, response) = completeWithProgress()
            let download: TaskEnd? =
                if case .success(.file(let file)) = result { .downloaded(file) } else { nil }
            return [download, metricsStep, .result(result, response)].compactMap { $0 }
        case .dataHandler, .fileHandler, .data, .file, .bytes:
            let (result, response) = completeWithProgress()
            return [metricsStep, .result(result, response)].compactMap { $0 }
        }
    }

    /// Whoever hears of the end finds the task's `Progress` there.
    private func completeWithProgress() -> (Result<Outcome, URLError>, URLResponse?) {
        defer { showProgress() }
        return complete()
    }

    /// True when that called the program's code. Delegate queue.
    func deliver(_ step: TaskEnd, of task: URLSessionTask, in session: URLSession, to delegates: DelegateSet) -> Bool {
        switch step {
        case .downloaded(let file):
            defer { file.removeIfStillThere() }
            guard let download = task as? URLSessionDownloadTask, let delegate = delegates.download else {
                return false
            }
            delegate.urlSession(session, downloadTask: download, didFinishDownloadingTo: file.url)
            return true
        case .metrics(let metrics):
            guard let delegate = delegates.task else { return false }
            delegate.urlSession(session, task: task, didFinishCollecting: URLSessionTaskMetrics(metrics))
            return true
        case .result(let result, let response):
            deliver(result, response, of: task, in: session, to: delegates)
            return true
        case .over:
            forget()
            return false
        }
    }

    private func deliver(
        _ result: Result<Outcome, URLError>,
        _ response: URLResponse?,
        of task: URLSessionTask,
        in session: URLSession,
        to delegates: DelegateSet
    ) {
        let consumer = shared.withLock { $0.consumer }
        switch consumer {
        case .informed:
            break
        case .delegate:
            delegates.task?.urlSession(session, task: task, didCompleteWithError: result.failure?.shown)
        case .dataHandler(let handler):
            if case .success(.data(let data)) = result {
                handler(data, response, nil)
            } else {
                handler(nil, response, result.failure?.shown)
            }
        case .fileHandler(let handler):
            if case .success(.file(let file)) = result {
                handler(file.url, response, nil)
                file.removeIfStillThere()
            } else {
                handler(nil, response, result.failure?.shown)
            }
        case .data, .file, .bytes:
            forget()
            return consumer.resume(with: result, response)
        }
        forget()
    }
}
