import Foundation

/// Turns a data task whose response awaits the delegate's answer into a download or stream task, or divides its body. Loop only, and not
/// between the task's end and its outcome; see `TaskHandle.convert`.
struct TaskConversion {
    private let handle: TaskHandle

    init(_ handle: TaskHandle) {
        self.handle = handle
    }

    // MARK: - Parts

    /// Makes `sink` divide received bytes, and later ones as they arrive.
    func divide(_ sink: DelegateSink) {
        let pieces = handle.shared.withLock { shared -> [Data]? in
            guard shared.isConvertible, case .divisible = shared.conversion else { return nil }
            shared.conversion = .none
            shared.machine.setBacklogged(false)
            return shared.mailbox.takeBody()
        }
        guard let pieces else { return }
        do throws(URLError) {
            try sink.divide(pieces)
            handle.allow()
            handle.loader?.phase.upgrade?.responseAllowed()
            handle.loader?.run()
        } catch {
            fail(error)
        }
    }

    // MARK: - A download task

    /// Writes received bytes to a file, to which later ones go directly.
    func convertToDownload() {
        let pieces = handle.shared.withLock { shared -> [Data]? in
            guard shared.isConvertible else { return nil }
            shared.machine.setBacklogged(false)
            return shared.mailbox.takeBody()
        }
        guard let pieces else { return }
        do throws(URLError) {
            let settings = handle.session.settings
            let sink = try FileSink(
                handle,
                in: settings.temporaryDirectory,
                for: handle.originalRequest,
                adding: settings.additionalHeaders,
                of: handle.loader?.sink.accepted,
                writing: pieces
            )
            convertToDownload(into: sink)
        } catch {
            fail(error)
        }
    }

    /// The file has been written. The task may have been cancelled since the body was taken, and even have completed.
    func convertToDownload(into sink: FileSink) {
        let isOver = handle.shared.withLock { shared -> Bool? in
            guard shared.isConvertible, let old = shared.task as? URLSessionDataTask else { return nil }
            shared.task = URLSessionDownloadTask(engine: handle)
            shared.conversion = .download
            // Ahead of a completion that may already be waiting.
            if let length = sink.length, length > 0 { shared.mailbox.postFirst(.event(.wrote(length))) }
            shared.mailbox.postFirst(.event(.becameDownload(from: old)))
            return shared.machine.stage == .finished
        }
        guard let isOver else { return sink.abandon(after: .cancelled(handle.shownURL), isKept: false) { _ in } }
        if isOver { return settle(sink) }
        handle.loader?.sink = sink
        handle.allow()
        handle.loader?.phase.upgrade?.responseAllowed()
        handle.loader?.run()
    }

    /// Fails the task; one that was cancelled meanwhile has already ended.
    func fail(_ error: URLError) {
        handle.shared.withLock { shared in
            if shared.isConvertible, shared.outcome != nil { shared.outcome = .failure(error) }
        }
        handle.loader?.fail(error)
        handle.allow()
    }

    /// Settles a transfer that was over before the answer arrived.
    private func settle(_ sink: FileSink) {
        let handle = handle
        if let error = handle.shared.withLock({ $0.outcome?.error }) {
            return sink.abandon(after: error, isKept: false) { _ in handle.allow() }
        }
        sink.finish { outcome in
            // False if the task was cancelled, and its owner has been told so.
            let isTaken = handle.shared.withLock { shared in
                guard shared.machine.stage == .finished else { return false }
                shared.outcome = outcome
                return true
            }
            if isTaken { return handle.allow() }
            if case .file(let file) = outcome { WorkThreads.files.run { file.removeIfStillThere() } }
        }
    }

    // MARK: - A stream task

    /// Passes received and later bytes to the stream task's reads.
    func convertToStream() {
        if let upgrade = handle.loader?.phase.upgrade, upgrade.isSwitched {
            return convertToStream(over: upgrade)
        }
        let port = StreamPort(writes: false)
        port.owner = handle
        let become = handle.shared.withLock { shared -> (stream: ResponseStream, error: URLError?)? in
            guard shared.isConvertible, let old = shared.task as? URLSessionDataTask else { return nil }
            let error = shared.outcome?.error
            let isComplete = shared.machine.stage == .finished && error == nil
            let stream = ResponseStream(port, handle, pieces: shared.mailbox.takeBody(), isComplete: isComplete)
            shared.convertToStream(port, handle, insteadOf: old, isBeingRead: true)
            shared.machine.setBacklogged(stream.isBehind)
            return (stream, error)
        }
        guard let become else { return }
        handle.loader?.sink = become.stream
        become.stream.open()
        if let error = become.error {
            become.stream.handOver()
            handle.endReading(.task(error))
        }
        handle.allow()
        handle.loader?.run()
    }

    /// Called if the server has switched protocols, so that bytes flow both ways.
    private func convertToStream(over upgrade: UpgradeTransfer) {
        let port = StreamPort()
        port.owner = handle
        let hasBecome = handle.shared.withLock { shared in
            guard shared.isConvertible, let old = shared.task as? URLSessionDataTask else { return false }
            shared.convertToStream(port, handle, insteadOf: old, isBeingRead: false)
            return true
        }
        guard hasBecome else { return }
        handle.loader?.sink = StreamSink(port)
        handle.allow()
        upgrade.open(port)
        handle.loader?.run()
    }
}

extension TaskState {
    fileprivate mutating func convertToStream(
        _ port: StreamPort,
        _ engine: TaskHandle,
        insteadOf old: URLSessionDataTask,
        isBeingRead: Bool
    ) {
        task = URLSessionStreamTask(engine: engine)
        conversion = .stream(isBeingRead: isBeingRead)
        consumer = .stream(port)
        // The completion is posted once all of the body has been read.
        mailbox.takeCompletion()
        mailbox.postFirst(.event(.becameStream(from: old)))
    }

    /// Whether the task's delegate is being asked about its response, and the answer still counts, as it does for a task that is to be
    /// cancelled with resume data, since success would undo that.
    fileprivate var isConvertible: Bool {
        guard case .delegate = consumer else { return false }
        return mailbox.isAwaitingAnswer && machine.cancellation != .discardingBody && !isConverted
    }
}
