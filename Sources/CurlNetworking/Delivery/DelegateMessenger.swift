import Foundation

/// Turns events and questions into calls of the delegate's methods: the only place that calls a delegate about its task. Each method
/// returns whether it called the program's code. Delegate queue.
struct DelegateMessenger {
    let session: URLSession
    let task: URLSessionTask
    let delegates: DelegateSet

    // MARK: - Events

    func tell(resumedAt offset: Int64, expected: Int64) -> Bool {
        guard let (download, delegate) = downloadAndDelegate else { return false }
        delegate.urlSession(session, downloadTask: download, didResumeAtOffset: offset, expectedTotalBytes: expected)
        return true
    }

    func tell(becameDownload dataTask: URLSessionDataTask) -> Bool {
        guard let download = task as? URLSessionDownloadTask, let delegate = delegates.data else { return false }
        delegate.urlSession(session, dataTask: dataTask, didBecome: download)
        return true
    }

    func tell(becameStream dataTask: URLSessionDataTask) -> Bool {
        guard let stream = task as? URLSessionStreamTask, let delegate = delegates.data else { return false }
        delegate.urlSession(session, dataTask: dataTask, didBecome: stream)
        return true
    }

    func tellReadClosed() -> Bool {
        guard let (stream, delegate) = streamAndDelegate else { return false }
        delegate.urlSession(session, readClosedFor: stream)
        return true
    }

    func tellWriteClosed() -> Bool {
        guard let (stream, delegate) = streamAndDelegate else { return false }
        delegate.urlSession(session, writeClosedFor: stream)
        return true
    }

    func tell(captured streams: CapturedStreams) -> Bool {
        guard let (stream, delegate) = streamAndDelegate else { return false }
        delegate.urlSession(session, streamTask: stream, didBecome: streams.input, outputStream: streams.output)
        return true
    }

    /// `growth` is how far the count has grown since the delegate was last told, in bytes.
    func tell(sent: TaskEvent.SentBytes, growth: Int64) -> Bool {
        guard let delegate = delegates.task else { return false }
        delegate.urlSession(
            session,
            task: task,
            didSendBodyData: growth,
            totalBytesSent: sent.total,
            totalBytesExpectedToSend: sent.expected
        )
        return true
    }

    func tell(received data: Data) -> Bool {
        guard let (dataTask, delegate) = dataTaskAndDelegate else { return false }
        delegate.urlSession(session, dataTask: dataTask, didReceive: data)
        return true
    }

    /// `growth` is how far `total` has grown since the delegate was last told, in bytes; `expected` is the download's size.
    func tell(written total: Int64, growth: Int64, expected: Int64) -> Bool {
        // A download that starts over has written nothing yet: its growth counts from there.
        guard total > 0, let (download, delegate) = downloadAndDelegate else { return false }
        delegate.urlSession(
            session,
            downloadTask: download,
            didWriteData: growth,
            totalBytesWritten: total,
            totalBytesExpectedToWrite: expected
        )
        return true
    }

    func tellWaitingForConnectivity() -> Bool {
        guard let delegate = delegates.task else { return false }
        delegate.urlSession(session, taskIsWaitingForConnectivity: task)
        return true
    }

    func tell(informational head: ResponseHead, to request: URLRequest) -> Bool {
        guard let delegate = delegates.task, let url = request.url, let response = HTTPURLResponse(head, at: url)
        else { return false }
        delegate.urlSession(session, task: task, didReceiveInformationalResponse: response)
        return true
    }

    func tell(openedWebSocket subprotocol: String?) -> Bool {
        guard let (webSocket, delegate) = webSocketAndDelegate else { return false }
        delegate.urlSession(session, webSocketTask: webSocket, didOpenWithProtocol: subprotocol)
        return true
    }

    func tell(closedWebSocket code: Int, reason: Data) -> Bool {
        guard let (webSocket, delegate) = webSocketAndDelegate else { return false }
        let closeCode = URLSessionWebSocketTask.CloseCode(rawValue: code) ?? .invalid
        delegate.urlSession(session, webSocketTask: webSocket, didCloseWith: closeCode, reason: reason)
        return true
    }

    private var webSocketAndDelegate: (URLSessionWebSocketTask, any URLSessionWebSocketDelegate)? {
        guard let webSocket = task as? URLSessionWebSocketTask, let delegate = delegates.webSocket else { return nil }
        return (webSocket, delegate)
    }

    private var dataTaskAndDelegate: (URLSessionDataTask, any URLSessionDataDelegate)? {
        guard let dataTask = task as? URLSessionDataTask, let delegate = delegates.data else { return nil }
        return (dataTask, delegate)
    }

    private var downloadAndDelegate: (URLSessionDownloadTask, any URLSessionDownloadDelegate)? {
        guard let download = task as? URLSessionDownloadTask, let delegate = delegates.download else { return nil }
        return (download, delegate)
    }

    private var streamAndDelegate: (URLSessionStreamTask, any URLSessionStreamDelegate)? {
        guard let stream = task as? URLSessionStreamTask, let delegate = delegates.stream else { return nil }
        return (stream, delegate)
    }

    // MARK: - Questions

    /// Asks what to do with a response; without a delegate for that, it is allowed.
    func askDisposition(
        of response: TaskResponse?,
        answer: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) -> Bool {
        guard let response, let (dataTask, delegate) = dataTaskAndDelegate, !lacks(delegate, .response) else {
            answer(.allow)
            return false
        }
        let first = FirstAnswer(answer)
        delegate.urlSession(session, dataTask: dataTask, didReceive: response.object) { first.give($0) }
        return true
    }

    /// Asks a question; without a delegate for it, gives the default answer.
    func ask(_ question: TaskQuestion) -> Bool {
        switch question {
        case .redirect(let response, let request, let answer):
            return askRedirect(by: response, to: request, answer)
        case .challenge(let question):
            question.put(about: task, in: session, to: delegates)
            return true
        case .bodyStream(let offset, let answer):
            return askBodyStream(from: offset, answer)
        case .delayedRequest(let request, let answer):
            return askDelayed(request, answer)
        case .willCache(let stored, let answer):
            return askCaching(of: stored, answer)
        }
    }

    private func askRedirect(
        by response: TaskResponse,
        to request: URLRequest,
        _ answer: @escaping @Sendable (URLRequest?) -> Void
    ) -> Bool {
        guard let delegate = delegates.task, let response = response.object as? HTTPURLResponse else {
            answer(request)
            return false
        }
        let first = FirstAnswer(answer)
        delegate.urlSession(session, task: task, willPerformHTTPRedirection: response, newRequest: request) {
            first.give($0)
        }
        return true
    }

    private func askBodyStream(from offset: Int64, _ answer: @escaping @Sendable (InputStream?) -> Void) -> Bool {
        guard let delegate = delegates.task else {
            answer(nil)
            return false
        }
        let first = FirstAnswer(answer)
        if offset == 0 {
            delegate.urlSession(session, task: task, needNewBodyStream: { first.give($0) })
        } else {
            delegate.urlSession(session, task: task, needNewBodyStreamFrom: offset) { first.give($0) }
        }
        return true
    }

    private func askDelayed(
        _ request: URLRequest,
        _ answer: @escaping @Sendable (URLSession.DelayedRequestDisposition, URLRequest?) -> Void
    ) -> Bool {
        guard let delegate = delegates.task else {
            answer(.continueLoading, nil)
            return false
        }
        let first = FirstAnswer { answer($0, $1) }
        delegate.urlSession(session, task: task, willBeginDelayedRequest: request) { first.give(($0, $1)) }
        return true
    }

    private func askCaching(
        of stored: StoredResponse,
        _ answer: @escaping @Sendable (CachedURLResponse?) -> Void
    ) -> Bool {
        // A delegate that has gone meanwhile hasn't agreed: the response isn't stored.
        guard let (dataTask, delegate) = dataTaskAndDelegate else { return false }
        guard !lacks(delegate, .caching) else {
            answer(stored.proposal)
            return false
        }
        let first = FirstAnswer(answer)
        delegate.urlSession(session, dataTask: dataTask, willCacheResponse: stored.proposal) { first.give($0) }
        return true
    }

    // MARK: - The end

    func tell(downloadedTo file: DownloadedFile) -> Bool {
        defer { file.removeIfStillThere() }
        guard let (download, delegate) = downloadAndDelegate else { return false }
        delegate.urlSession(session, downloadTask: download, didFinishDownloadingTo: file.url)
        return true
    }

    func tell(_ metrics: TaskMetrics) -> Bool {
        guard let delegate = delegates.task, !lacks(delegate, .metrics) else { return false }
        delegate.urlSession(session, task: task, didFinishCollecting: URLSessionTaskMetrics(metrics))
        return true
    }

    /// Whether `delegate` is the session's and has no such method: then a call would reach none of the program's code and still cost an
    /// operation. A task's own delegate passes on what it lacks.
    private func lacks(_ delegate: any URLSessionDelegate, _ method: MissingMethods.Method) -> Bool {
        MissingMethods.contains(method, of: delegate) && delegate === session.core.delegates.base
    }

    func tellCompletion(with error: (any Error)?) {
        delegates.task?.urlSession(session, task: task, didCompleteWithError: error)
    }
}
