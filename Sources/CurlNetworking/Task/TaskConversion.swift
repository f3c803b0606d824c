import Foundation

/// Turns a data task whose response waits for its answer into a download or stream task. Loop only.
struct TaskConversion {
    private let handle: TaskHandle

    init(_ handle: TaskHandle) {
        self.handle = handle
    }

    // MARK: - A download task

    /// What has arrived is written to a file, and what follows goes there directly.
    func becomeDownload() {
        guard handle.shared.withLock({ $0.mayBecomeAnother }), let old = handle.task as? URLSessionDataTask else {
            return
        }
        do throws(URLError) {
            let pieces = handle.shared.withLock { $0.mailbox.takeBody() }
            let directory = handle.session.settings.temporaryDirectory
            let sink = try FileSink(handle, in: directory, for: handle.originalRequest, writing: pieces)
            let isOver = handle.shared.withLock { shared in
                shared.task = URLSessionDownloadTask(engine: handle)
                shared.hasBecomeAnother = true
                _ = shared.machine.setBacklogged(false)
                // Ahead of a completion that may already be waiting.
                if let length = sink.length, length > 0 { _ = shared.mailbox.postFirst(.event(.wrote(length))) }
                _ = shared.mailbox.postFirst(.event(.becameDownload(from: old)))
                return shared.machine.stage == .finished
            }
            if isOver { settle(sink) } else { handle.loader?.sink = sink }
            handle.allow()
            handle.loader?.run()
        } catch {
            handle.shared.withLock { shared in
                if shared.outcome != nil { shared.outcome = .failure(error) }
            }
            handle.loader?.fail(error)
            handle.allow()
        }
    }

    /// The transfer was over before the answer came.
    private func settle(_ sink: FileSink) {
        if let error = handle.shared.withLock({ $0.outcome?.error }) {
            _ = sink.abandon(after: error, isKept: false)
            return
        }
        let outcome: Outcome
        do throws(URLError) {
            outcome = try sink.finish()
        } catch {
            outcome = .failure(error)
        }
        handle.shared.withLock { $0.outcome = outcome }
    }

    // MARK: - A stream task

    /// What has arrived, and what follows, goes to those who read.
    func becomeStream() {
        // The end is certain, and waits for cookies to be stored.
        if handle.shared.withLock({ $0.machine.stage == .finished && $0.outcome == nil }) {
            return handle.whenShown { [weak handle] in
                if let handle { TaskConversion(handle).becomeStream() }
            }
        }
        let port = StreamPort(writes: false)
        port.owner = handle
        let become = handle.shared.withLock { shared -> (stream: ResponseStream, error: URLError?)? in
            guard shared.mayBecomeAnother, let old = shared.task as? URLSessionDataTask else { return nil }
            let isComplete = shared.machine.stage == .finished
            let stream = ResponseStream(port, handle, pieces: shared.mailbox.takeBody(), isComplete: isComplete)
            shared.task = URLSessionStreamTask(engine: handle)
            (shared.hasBecomeAnother, shared.isBeingRead) = (true, true)
            shared.consumer = .stream(port)
            _ = shared.machine.setBacklogged(stream.isBehind)
            // It comes when all of the body has been read.
            shared.mailbox.takeCompletion()
            _ = shared.mailbox.postFirst(.event(.becameStream(from: old)))
            return (stream, shared.outcome?.error)
        }
        guard let become else { return }
        handle.loader?.sink = become.stream
        become.stream.open()
        if let error = become.error { handle.endReading(.task(error)) }
        handle.allow()
        handle.loader?.run()
    }
}

extension TaskState {
    /// Whether the task's delegate is being asked about its response, and the answer still counts.
    fileprivate var mayBecomeAnother: Bool {
        guard case .delegate = consumer else { return false }
        return mailbox.isAwaitingAnswer && machine.cancellation == nil && !hasBecomeAnother
    }
}
