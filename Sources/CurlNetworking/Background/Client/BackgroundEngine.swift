import CurlNetworkingLocks
import Foundation

/// A task of a background session, in the program: passes its owner's intent to the agent, and the agent's messages to the delegate.
///
/// This file has the intents; `BackgroundEngine+Delivery.swift` has the messages and the end.
///
/// `@unchecked Sendable`: `shared` guards what any thread may use, the client's queue the rest.
final class BackgroundEngine: StatefulTaskEngine, @unchecked Sendable {
    // MARK: Never changes

    let identifier: Int
    let session: SessionCore
    let client: BackgroundClient
    /// Identifies the task between program and agent.
    let key: UUID
    let originalRequest: URLRequest?
    let work: BackgroundWork
    let creation = Date()
    /// Whether it ended before this program attached, so that the delegate only has to be told.
    private let endedUnattended: Bool
    var isHidden: Bool { false }
    var listedTask: URLSessionTask? { endedUnattended ? nil : shared.withLock { $0.listedTask } }
    var untoldTask: URLSessionTask? { task }

    // MARK: Any thread

    let shared: Mutex<TaskState>
    let handOver = Mutex(HandOver.none)
    /// Questions that the delegate has been asked, or will be.
    let questions = Mutex<[ChallengeSender]>([])

    /// What becomes of the agent's file with the result, complete or partial.
    enum HandOver {
        case none
        /// The download's file, which gets a name in the program's directory when its delegate's turn has come.
        case due(URL)
        /// For want of room, a descriptor or the like, the delegate gets no file or no resume data. The agent keeps the file for the next
        /// session.
        case failed
    }

    // MARK: Client's queue

    /// Whether an agent has confirmed that it recorded the task.
    var isRecorded = false
    /// Whether the delegate has been told that the task waits for its host.
    var isKnownToWait = false
    /// Where the download continued, as the delegate was last told.
    var knownResumption: TaskProgress.Resumption?
    var body = Body.none

    /// The body of the response to an upload, on its way to the delegate.
    enum Body {
        case none
        case file(FileReader)
        /// The delegate has it or is about to get it, and then the end.
        case passedOn
    }

    init(
        identifier: Int,
        client: BackgroundClient,
        in session: SessionCore,
        request: URLRequest?,
        work: BackgroundWork
    ) {
        let request = request.map(HeaderRules.withoutDoubles)
        self.identifier = identifier
        self.session = session
        self.client = client
        self.work = work
        endedUnattended = false
        key = .random()
        originalRequest = request
        var state: TaskState
        switch work {
        case .download:
            state = TaskState(consumer: .downloadDelegate, currentRequest: request)
        case .upload(let file, _):
            state = TaskState(consumer: .delegate, currentRequest: request)
            state.counters.expectedToSend = file.length
        }
        shared = Mutex(state)
    }

    /// A task that an earlier program made.
    init(identifier: Int, client: BackgroundClient, in session: SessionCore, listing: TaskListing) {
        let submission = listing.submission
        self.identifier = identifier
        self.session = session
        self.client = client
        key = submission.key
        work = BackgroundWork(submission)
        endedUnattended = listing.ending != nil
        isRecorded = true
        originalRequest = submission.request.request
        // What came before this program isn't news.
        knownResumption = listing.progress.resumption
        shared = Mutex(TaskState(listing))
    }

    func withState<Result>(_ body: (inout sending TaskState) -> sending Result) -> sending Result {
        shared.withLock(body)
    }

    // MARK: - Intents

    func cancel(_ task: URLSessionTask) {
        discard(task)
        // The bytes whose delivery would have asked for more may just have been dropped.
        consumerCaughtUp()
    }

    func act(for task: URLSessionTask, _ change: (inout TaskState) -> Bool) {
        switch shared.withLock({ $0.note(change, for: task) }) {
        case .none: break
        case .change: client.intentChanged(self)
        case .activation: begin()
        }
    }

    /// Adds the task to the session, and only then tells the client of it: intents of other threads that arrive in between wait.
    func begin() {
        session.activate(self)
        client.add(self)
    }

    func changeSettings(_ change: (inout TaskSettings) -> Void) {
        let isChanged = shared.withLock { shared in
            let old = shared.settings
            change(&shared.settings)
            return shared.task != nil && shared.settings != old
        }
        if isChanged { client.intentChanged(self) }
    }

    /// Background sessions have no stream tasks, and no data tasks whose delegates are asked about responses.
    func add(_ operation: StreamPort.Operation) {}
    func answer(_ disposition: URLSession.ResponseDisposition) {}

    func checkpoint(_ completion: @escaping @Sendable (Data?) -> Void) {
        client.checkpoint(self, completion)
    }

    func consumerCaughtUp() {
        client.queue.async {
            if case .file = self.body { self.readBody() }
        }
    }

    /// The agent's name for the task's own delegate, if that decides about the task's connections.
    var deciderName: UUID? {
        let delegates = AskedDelegates(of: ownDelegates, session.delegates)
        guard case .task(let decider)? = HandshakeDecider(delegates) else { return nil }
        return client.deciders.name(of: decider.value)
    }

    func ownDelegateChanged() {
        client.intentChanged(self)
    }

    /// The intent as sent to the agent.
    var intent: TaskIntent {
        let decider = deciderName
        return shared.withLock { shared in
            let cancellation: TaskIntent.Cancellation? =
                switch shared.machine.cancellation {
                case .discardingBody: .discardingBody
                case .keepingPartialFile, .keepingPartialFileAlone: .keepingPartialFile
                case nil: nil
                }
            return TaskIntent(
                isSuspended: shared.machine.isSuspended,
                cancellation: cancellation,
                settings: shared.settings,
                decider: decider
            )
        }
    }

    /// The store with cookies for the request; nil if it carries none.
    var sentCookies: CookieStore? {
        originalRequest?.httpShouldHandleCookies == true ? session.settings.sentCookies : nil
    }

    /// The new task as sent to the agent; nil for a request that can't be described.
    func submission(with cookies: [StoredCookie]) -> TaskSubmission? {
        guard var described = originalRequest else { return nil }
        described.cachePolicy = session.settings.cachePolicy(for: described)
        guard let request = RequestDescription(described) else { return nil }
        let (resumeData, resource): (Data?, UploadResource?) =
            switch work {
            case .download(let resumeData): (resumeData, nil)
            case .upload(_, let resumed): (nil, resumed?.resumption.resource)
            }
        return TaskSubmission(
            key: key,
            identifier: identifier,
            kind: work.kind,
            request: request,
            resumeData: resumeData,
            upload: resource,
            cookies: cookies.map(CookieDescription.init),
            intent: intent,
            ignoresMetrics: isMeasured ? nil : true
        )
    }

    var requestWithBody: URLRequest? { shared.withLock { $0.currentRequest } }
}
