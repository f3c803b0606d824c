import Foundation

/// The receiver of a task's results. All kinds share one engine.
enum Consumer: Sendable {
    /// The delegate, message by message, on the delegate queue: of a data task, with the body as it arrives, or of a download.
    case delegate
    case downloadDelegate
    /// A handler on the delegate queue, called once with everything.
    case dataHandler(@Sendable (Data?, URLResponse?, (any Error)?) -> Void)
    case fileHandler(@Sendable (URL?, URLResponse?, (any Error)?) -> Void)
    /// A Swift task, resumed from the loop without another hop.
    case data(UnsafeContinuation<(Data, TaskResponse), any Error>)
    /// A Swift task that gets a file, resumed from the thread that renamed it, or from the loop after a failure.
    case file(UnsafeContinuation<(URL, TaskResponse), any Error>)
    /// A Swift task that reads bytes as they arrive.
    case bytes(ByteStream)
    /// The code that sends and receives a web socket's messages; the delegate is told of its beginning and end.
    case webSocket(WebSocketExchange)
    /// The delegate, and the code that reads and writes.
    case stream(StreamPort)
    /// A Swift task that already has its result.
    case informed
}

extension Consumer {
    /// Resumes the Swift task waiting for the result; does nothing for other kinds.
    func resume(with outcome: Outcome, _ response: TaskResponse?) {
        switch self {
        case .data(let continuation):
            continuation.resume(with: outcome.data(with: response).mapError(\.shown))
        case .file(let continuation):
            if let error = outcome.error { return continuation.resume(throwing: error.shown) }
            // Renaming a file is slow on some file systems.
            WorkThreads.files.run {
                continuation.resume(with: outcome.file(with: response).mapError(\.shown))
            }
        case .bytes(let stream):
            stream.finish(outcome.error)
        case .delegate, .downloadDelegate, .dataHandler, .fileHandler, .webSocket, .stream, .informed:
            break
        }
    }

    /// The recipient of the result.
    private enum Recipient {
        case delegate
        case handler
        case swiftTask
        /// It has been handed over.
        case nobody
    }

    private var recipient: Recipient {
        switch self {
        case .delegate, .downloadDelegate, .webSocket, .stream: .delegate
        case .dataHandler, .fileHandler: .handler
        case .data, .file, .bytes: .swiftTask
        case .informed: .nobody
        }
    }

    /// Whether the delegate is told of the response, body and end; false if a handler or a Swift task gets them.
    var isDelegate: Bool { recipient == .delegate }
    /// Whether a handler gets the result.
    var isHandler: Bool { recipient == .handler }
    /// Whether a Swift task waits for the result.
    var isAsync: Bool { recipient == .swiftTask }

    /// The default of the task's property of that name: false if the body is delivered as a whole.
    var prefersIncrementalDelivery: Bool {
        switch self {
        case .delegate, .bytes, .webSocket, .stream: true
        case .downloadDelegate, .dataHandler, .fileHandler, .data, .file, .informed: false
        }
    }

    /// The reads and writes of a stream task; nil for tasks of other kinds.
    var port: StreamPort? {
        if case .stream(let port) = self { port } else { nil }
    }

    /// The messages of a web socket; nil for tasks of other kinds.
    var webSocket: WebSocketExchange? {
        if case .webSocket(let exchange) = self { exchange } else { nil }
    }

    /// Whether a failure of the task fails the program's waiting calls first: their handlers may cancel the task, which ends with the same
    /// error.
    var failsInCalls: Bool { webSocket != nil || port != nil }

    /// The URL as errors show it to the program.
    func shown(_ url: URL) -> URL {
        if case .webSocket(let exchange) = self { exchange.shown(url) } else { url }
    }

    /// The result as the program sees it.
    func shown(_ outcome: Outcome) -> Outcome {
        guard case .webSocket(let exchange) = self, case .failure(let error) = outcome else { return outcome }
        return .failure(error.changingURL(exchange.shown))
    }
}

/// A task's result.
enum Outcome: Sendable {
    /// The body was handed over as it arrived.
    case delivered
    case data(Data)
    case file(DownloadedFile)
    case failure(URLError)

    var error: URLError? {
        if case .failure(let error) = self { error } else { nil }
    }
}

extension Outcome {
    fileprivate func data(with response: TaskResponse?) -> Result<(Data, TaskResponse), URLError> {
        guard case .data(let data) = self, let response else { return .failure(error ?? URLError(.unknown)) }
        return .success((data, response))
    }

    fileprivate func file(with response: TaskResponse?) -> Result<(URL, TaskResponse), URLError> {
        guard case .file(let file) = self, let response else { return .failure(error ?? URLError(.unknown)) }
        return Result { () throws(URLError) in (try file.handOver(), response) }
    }
}
