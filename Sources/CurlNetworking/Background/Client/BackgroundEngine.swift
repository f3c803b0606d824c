import CurlNetworkingLocks
import Foundation

/// A task of a background session, in the program: what its owner wants goes to the agent, and what the agent tells goes to the delegate.
///
/// This file holds the wishes and the public properties, `BackgroundEngine+Delivery.swift` the messages and the end.
///
/// `@unchecked Sendable`: `shared` guards what any thread may touch, the client's queue the rest.
final class BackgroundEngine: TaskEngine, SessionMember, @unchecked Sendable {
    // MARK: Never changes

    let identifier: Int
    let session: SessionCore
    let client: BackgroundClient
    /// The task's name between program and agent.
    let key: UUID
    let originalRequest: URLRequest?
    let kind: TaskSubmission.Kind
    let resumeData: Data?
    var isHidden: Bool { false }

    // MARK: Any thread

    let shared: Mutex<TaskState>

    // MARK: Client's queue

    var body = Body.none

    /// What a server said to an upload, on its way to the delegate.
    enum Body {
        case none
        case file(FileHandle)
        /// The delegate has it, or is about to hear of it; then of the end.
        case passedOn
    }

    init(
        identifier: Int,
        _ client: BackgroundClient,
        in session: SessionCore,
        _ request: URLRequest?,
        _ kind: TaskSubmission.Kind,
        resumeData: Data? = nil
    ) {
        self.identifier = identifier
        self.session = session
        self.client = client
        self.kind = kind
        self.resumeData = resumeData
        key = UUID()
        originalRequest = request
        var state = TaskState(consumer: kind == .download ? .downloadDelegate : .delegate, currentRequest: request)
        if case .upload(let file) = kind { state.counters.expectedToSend = file.length }
        shared = Mutex(state)
    }

    /// A task that an earlier program has made.
    init(identifier: Int, _ client: BackgroundClient, in session: SessionCore, _ listing: TaskListing) {
        let submission = listing.submission
        self.identifier = identifier
        self.session = session
        self.client = client
        key = submission.key
        kind = submission.kind
        resumeData = submission.resumeData
        originalRequest = submission.request.request
        var state = TaskState(
            consumer: kind == .download ? .downloadDelegate : .delegate,
            currentRequest: originalRequest
        )
        state.settings = submission.wish.settings
        // It was resumed once: before that, no agent hears of a task.
        _ = state.machine.resume()
        if submission.wish.isSuspended { _ = state.machine.suspend() }
        switch submission.wish.cancellation {
        case .discardingBody: _ = state.machine.cancel(.discardingBody)
        case .keepingPartialFile: _ = state.machine.cancel(.keepingPartialFile)
        case nil: break
        }
        state.show(listing.progress)
        // What came before is no news.
        _ = state.mailbox.reportWritten(state.counters.received)
        _ = state.mailbox.reportSent(
            .init(total: state.counters.sent, expected: state.counters.expectedToSend, request: state.counters.requests)
        )
        shared = Mutex(state)
    }

    // MARK: - Wishes

    func resume(_ task: URLSessionTask) {
        act(for: task) { $0.machine.resume() }
    }

    func suspend(_ task: URLSessionTask) {
        act(for: task) { $0.machine.suspend() }
    }

    func cancel(_ task: URLSessionTask) {
        var schedules = false
        act(for: task) { shared in
            // What came out is there already, and need not be delivered.
            if shared.machine.stage == .finished { schedules = shared.mailbox.discard() }
            return shared.machine.cancel(.discardingBody)
        }
        if schedules { scheduleDelivery() }
    }

    func cancel(_ task: URLSessionTask, byProducingResumeData handler: @escaping @Sendable (Data?) -> Void) {
        let isTooLate = shared.withLock { shared in
            switch shared.machine.stage {
            case .parked, .queued, .loading:
                guard shared.machine.cancellation == nil else { return true }
                shared.resumeDataHandlers.append(handler)
                return false
            case .finished, .completed:
                return true
            }
        }
        if isTooLate { return session.deliveryQueue.addOperation { handler(nil) } }
        act(for: task) { $0.machine.cancel(.keepingPartialFile) }
    }

    private func act(for task: URLSessionTask, _ wish: (inout TaskState) -> Bool) {
        let (isFirst, isChanged) = shared.withLock { shared -> (Bool, Bool) in
            guard wish(&shared) else { return (false, false) }
            guard shared.task == nil, shared.machine.wasResumed || shared.machine.cancellation != nil else {
                return (false, shared.task != nil)
            }
            shared.task = task
            return (true, true)
        }
        if isFirst { session.activate(self) }
        if isChanged { client.wishChanged(self) }
    }

    func changeSettings(_ change: (inout TaskSettings) -> Void) {
        let isChanged = shared.withLock { shared in
            let old = shared.settings
            change(&shared.settings)
            return shared.task != nil && shared.settings != old
        }
        if isChanged { client.wishChanged(self) }
    }

    /// Background sessions have no stream tasks.
    func add(_ wish: StreamPort.Wish) {}

    func checkpoint(_ completion: @escaping @Sendable (Data?) -> Void) {
        client.checkpoint(self, completion)
    }

    func consumerCaughtUp() {
        client.queue.async {
            if case .file = self.body { self.readBody() }
        }
    }

    func released() {
        session.forgetUnlessActive(identifier: identifier)
    }

    /// What the agent is to know.
    var wish: TaskWish {
        shared.withLock { shared in
            let cancellation: TaskWish.Cancellation? =
                switch shared.machine.cancellation {
                case .discardingBody: .discardingBody
                case .keepingPartialFile: .keepingPartialFile
                case nil: nil
                }
            return TaskWish(
                isSuspended: shared.machine.isSuspended,
                cancellation: cancellation,
                settings: shared.settings
            )
        }
    }

    /// The new task as the agent is told of it; nil for a request that can't be.
    func submission() -> TaskSubmission? {
        guard let originalRequest, let request = RequestDescription(originalRequest) else { return nil }
        let storage = originalRequest.httpShouldHandleCookies ? session.configuration.httpCookieStorage : nil
        let cookies = session.configuration.httpShouldSetCookies ? storage?.cookies(for: request.url) ?? [] : []
        return TaskSubmission(
            key: key,
            identifier: identifier,
            kind: kind,
            request: request,
            resumeData: resumeData,
            cookies: cookies.map(CookieDescription.init),
            wish: wish
        )
    }

    // MARK: - What the public object shows

    var snapshot: TaskSnapshot {
        shared.withLock { shared in
            TaskSnapshot(
                currentRequest: shared.currentRequest,
                response: shared.response,
                error: shared.machine.stage == .completed ? shared.outcome?.error?.shown : nil,
                counters: shared.counters
            )
        }
    }

    var settings: TaskSettings { shared.withLock { $0.settings } }

    var ownDelegate: (any URLSessionTaskDelegate)? {
        get { shared.withLock { $0.delegates.task } }
        set {
            let delegates = DelegateSet(newValue)
            let old = shared.withLock { shared in
                defer { shared.delegates = delegates }
                return shared.delegates
            }
            // The program's object goes without the lock.
            withExtendedLifetime(old) {}
        }
    }

    func state(of task: URLSessionTask) -> URLSessionTask.State { shared.withLock { $0.machine.publicState } }

    func progress(of task: URLSessionTask) -> Progress {
        shared.withLock { $0.makeProgress(for: task) }
    }

    var requestWithBody: URLRequest? { shared.withLock { $0.currentRequest } }
    var tellsDelegateOfResult: Bool { true }

    var listedTask: URLSessionTask? {
        shared.withLock { $0.machine.stage != .completed && $0.machine.cancellation == nil ? $0.task : nil }
    }
}

extension TaskState {
    /// What the agent has told.
    mutating func show(_ progress: TaskProgress) {
        counters = progress.counters
        if let current = progress.currentRequest { currentRequest = current.request }
        if let response = progress.response?.response { self.response = response }
    }
}
