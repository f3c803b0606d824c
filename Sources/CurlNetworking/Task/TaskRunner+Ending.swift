import Foundation

// How a task ends, and what becomes of what it holds. Everything on the loop.

extension TaskRunner {
    /// The task has come to `outcome`; the first one counts. Whatever still runs is stopped.
    func finish(_ outcome: Outcome) {
        lane.loop.preconditionOnLoop()
        let (isFirst, schedules) = shared.withLock { shared in
            guard shared.machine.finish() else { return (false, false) }
            // Somebody has cancelled the task, and the loop had no time to look: what waits for an answer gets none any more.
            return (true, shared.machine.cancellation != nil && shared.mailbox.discard())
        }
        guard isFirst else { return }
        if schedules { scheduleDeliveryAtEndOfRound() }
        if case .failure(let error) = outcome {
            loading.ticket?.hasFailed = true
            end(.failure(error.with(phase: loading.exchange?.phase ?? .preparing)), keepsPartialFile: true)
        } else {
            end(outcome, keepsPartialFile: true)
        }
    }

    func end(cancelledBy cancellation: TaskStateMachine.Cancellation) {
        let (url, schedules) = shared.withLock { ($0.currentRequest?.url, $0.mailbox.discard()) }
        if schedules { scheduleDeliveryAtEndOfRound() }
        end(.failure(.cancelled(url)), keepsPartialFile: cancellation == .keepingPartialFile)
    }

    /// Frees what the task holds of the loop, and sends the outcome on its way. Called once in a task's life.
    private func end(_ outcome: Outcome, keepsPartialFile: Bool) {
        var outcome = outcome
        if let exchange = loading.exchange.take() {
            exchange.cancel()
            keepMetrics(of: exchange)
        }
        loading.held = nil
        endAuthentication()
        leaveHandshake()
        loading.load.take()?.stop()
        stopWaiting()
        loading.nextLane = nil
        if let deadline = loading.deadline.take() { lane.loop.cancel(deadline) }
        let resumeData = settleFile(&outcome, keepsPartialFile: keepsPartialFile)
        // It was made here: the thread that lets go of the task would have to wait for this one's memory.
        loading.head = nil
        send(outcome, resumeData: resumeData)
        if let ticket = loading.ticket.take() { lane.leave(ticket) }
    }

    /// Decides what becomes of the download's file; returns the data to resume from where there is any.
    private func settleFile(_ outcome: inout Outcome, keepsPartialFile: Bool) -> Data? {
        guard case .failure(let error) = outcome else {
            do throws(URLError) {
                if let file = loading.file.take() { outcome = .file(try file.finish()) }
                removeSupersededFile()
            } catch {
                outcome = .failure(error)
            }
            return nil
        }
        let data = keepsPartialFile ? keepPartialFile(after: error) : nil
        loading.file.take()?.remove()
        if let data { outcome = .failure(error.with(resumeData: data)) }
        return data
    }

    /// What to resume from after `error`; nil where there is nothing.
    private func keepPartialFile(after error: URLError) -> Data? {
        // Until the server has answered, what was to be resumed still is.
        if loading.head == nil, case .success(let untouched) = resumption { return untouched.encoded() }
        guard !Self.fileErrors.contains(error.code) else { return nil }
        return keepPartialFile()
    }

    /// After these the file is no good to go on from.
    private static let fileErrors: Set<URLError.Code> = [
        .cannotCreateFile, .cannotOpenFile, .cannotCloseFile, .cannotWriteToFile, .cannotRemoveFile, .cannotMoveFile,
    ]

    private func keepPartialFile() -> Data? {
        guard let validator, let partial = loading.file?.keep() else { return nil }
        loading.file = nil
        guard let encoded = resumeData(for: partial, validator)?.encoded() else {
            partial.remove(in: session.settings.temporaryDirectory)
            return nil
        }
        removeSupersededFile()
        return encoded
    }

    /// What to resume from should the process end now, while the download goes on; nil where there is nothing.
    func checkpoint() -> Data? {
        lane.loop.preconditionOnLoop()
        guard isUnfinished else { return nil }
        if loading.head == nil, case .success(let untouched) = resumption { return untouched.encoded() }
        guard let validator, let partial = loading.file?.describe() else { return nil }
        return resumeData(for: partial, validator)?.encoded()
    }

    /// nil where the server gave nothing to validate with.
    private var validator: Resumption.Validator? {
        guard let request = shared.withLock({ $0.currentRequest }) else { return nil }
        return loading.head.flatMap { ResumePolicy.validator(of: $0, to: request) } ?? loading.appendedValidator
    }

    private func resumeData(for partial: PartialFile, _ validator: Resumption.Validator) -> ResumeData? {
        guard let original = originalRequest, let url = original.url, ResumeData.canName(url) else { return nil }
        let expected = shared.withLock { $0.counters.expectedToReceive }
        return ResumeData(
            request: original,
            url: url,
            validator: validator,
            completeLength: expected > 0 ? expected : nil,
            partialFile: partial
        )
    }

    private func removeSupersededFile() {
        guard loading.supersedesPartialFile, case .success(let old) = resumption else { return }
        old.partialFile.remove(in: session.settings.temporaryDirectory)
    }
}
